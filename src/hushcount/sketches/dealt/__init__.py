"""Sketches of shards to which rows are dealt."""
