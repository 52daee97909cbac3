"""Loops of the local model over arrays of reports."""
