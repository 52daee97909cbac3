"""Runs under random signals for a bounded time: python -m tests.soak [SECONDS [SEED]]."""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time

from tests.soak import runs


def main() -> None:
    """Strike runs until the time is over; an assertion that fails names its seed."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 300.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 30)
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        runs.make_data()
        done = continued = trees = 0
        while time.monotonic() < end:
            print(
                f"\rseed {seed}: {done} runs, continued {continued} times; {trees} trees", end="", flush=True
            )
            rng = random.Random(seed)
            continued += runs.struck_until_it_ends(rng)
            trees += runs.struck_tree(rng)
            seed, done = seed + 1, done + 1
    print(f"\nNothing was lost in {done} runs that continued {continued} times, and {trees} trees.")


if __name__ == "__main__":
    main()
