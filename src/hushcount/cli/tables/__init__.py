"""Commands on published tables."""
