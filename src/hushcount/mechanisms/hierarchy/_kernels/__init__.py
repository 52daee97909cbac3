"""Compiled loops over the nodes of a tree."""
