"""Tables over time: the state of a watch, its periods, and the feed that it publishes."""
