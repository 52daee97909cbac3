"""Keys: columns of data turned into the keys that are counted, and back."""
