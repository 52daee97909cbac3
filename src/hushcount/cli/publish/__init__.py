"""Commands that publish: top, tree, sample, oracle."""
