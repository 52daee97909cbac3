"""Kernels compiled by numba: the decorator, hashing, and machine instructions that several kernels use."""
