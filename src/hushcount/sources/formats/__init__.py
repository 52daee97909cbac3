"""Files as sources: one reader for each format, and the inputs that they read."""
