"""Private weighted sampling."""
