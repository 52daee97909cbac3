"""Hierarchies: from a raw key to its canonical leaf, and from a leaf to its nodes and their names."""
