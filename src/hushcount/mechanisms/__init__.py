"""Every noise draw and threshold, with its theorem."""
