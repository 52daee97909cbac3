"""Mechanisms for exact counts and for counts of which one unit changes several."""
