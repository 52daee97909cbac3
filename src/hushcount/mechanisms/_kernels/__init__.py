"""Compiled loops over arrays; each has an obvious twin in tests."""
