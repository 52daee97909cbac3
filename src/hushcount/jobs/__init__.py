"""Source to release in one call."""
