"""Other ways to hold what a counter table holds, with the same keys and counts."""
