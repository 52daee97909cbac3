"""Jobs of linear sketches: sketches that track keys, and heavy hitters from an oracle."""
