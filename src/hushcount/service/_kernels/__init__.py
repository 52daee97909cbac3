"""Loops over reports and over sorted runs of nonces."""
