"""Mechanisms for the counters of a stream sketch."""
