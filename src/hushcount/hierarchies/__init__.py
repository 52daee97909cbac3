"""Hierarchies: trees whose leaves are keys, such as networks of addresses or folders of paths."""
