"""Weighted samples of keys: raw data of their owner."""
