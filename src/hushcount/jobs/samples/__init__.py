"""Samples of what was counted, or sampled, before."""
