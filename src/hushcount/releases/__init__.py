"""Releases: what may be published, with its guarantee, its accuracy and its files."""
