"""Releases as JSON, version 2: exact, canonical, digested, signed, and read back with all their methods."""
