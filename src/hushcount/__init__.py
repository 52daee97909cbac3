"""Differentially private heavy hitters of a stream, in one pass and bounded memory."""
