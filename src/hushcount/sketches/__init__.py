"""Sketches: counts of raw data in bounded memory, which can be updated, merged, queried and saved."""
