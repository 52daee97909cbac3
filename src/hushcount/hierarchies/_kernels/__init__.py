"""Compiled loops that read keys as leaves of a hierarchy."""
