"""Compiled loops over the counts of a private weighted sample."""
