"""Weighted samples of keys, which are raw data."""
