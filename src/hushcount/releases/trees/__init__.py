"""The parts of a tree release."""
