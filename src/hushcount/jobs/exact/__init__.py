"""Tables of exact counts, which are made on disk."""
