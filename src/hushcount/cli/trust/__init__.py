"""Commands for whoever has to trust a release."""
