"""Compiled loops of the local model over reports, tables and items."""
