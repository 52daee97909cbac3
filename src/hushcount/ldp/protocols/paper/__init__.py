"""The protocols of Bassily et al. 2020, close to the text; docs/ldp-paper.md lists every difference."""
