"""Other libraries on the same data and budget, each in its own environment: `make peers`."""
