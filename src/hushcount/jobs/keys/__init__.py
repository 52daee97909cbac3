"""Keys without counts: which keys exist."""
