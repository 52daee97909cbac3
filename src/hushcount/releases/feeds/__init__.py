"""What is read from the feed of a watch, as tables and as a page."""
