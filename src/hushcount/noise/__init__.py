"""Noise on the integers: uniform bits, each distribution with its formulas, and exact samplers."""
