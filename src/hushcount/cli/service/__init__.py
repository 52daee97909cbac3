"""Commands of the collector and of the relay."""
