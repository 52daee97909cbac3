"""Kernels that several rooms use: hashing, ends of rows of text, and instructions that Python lacks."""
