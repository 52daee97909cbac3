"""Files that are written whole or not at all, and the one container in which state is kept."""
