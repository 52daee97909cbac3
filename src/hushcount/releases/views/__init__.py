"""Views of a release: sentences, tables for a terminal, pictures."""
