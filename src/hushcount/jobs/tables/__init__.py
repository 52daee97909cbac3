"""Tables that other programs made."""
