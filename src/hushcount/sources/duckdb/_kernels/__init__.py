"""Compiled loops that bring the rows of each user together."""
