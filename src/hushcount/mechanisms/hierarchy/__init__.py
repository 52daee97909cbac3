"""Mechanisms for the heavy nodes of a hierarchy."""
