"""`python -m hushcount` is `hushcount`."""

import sys

from hushcount.cli import main

if __name__ == "__main__":
    sys.exit(main())
