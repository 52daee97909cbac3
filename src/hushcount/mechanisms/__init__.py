"""Mechanisms: every noise draw and every threshold, each with its theorem."""
