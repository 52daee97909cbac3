"""Mechanisms that publish keys without counts."""
