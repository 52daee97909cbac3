"""Jobs: from a source to a release in one call."""
