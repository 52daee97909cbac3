"""Trees beside those that are released."""
