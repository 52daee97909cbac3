"""Accuracy statements and tables for people."""
