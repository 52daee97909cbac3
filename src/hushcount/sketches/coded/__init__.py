"""Rows that share their keys, as those of a dictionary do."""
