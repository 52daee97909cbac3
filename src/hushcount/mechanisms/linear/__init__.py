"""Mechanisms for linear sketches."""
