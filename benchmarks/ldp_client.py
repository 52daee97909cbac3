"""One report of a client of the local model, in pure Python: CPU microseconds, least of some rounds.

`python -m benchmarks.ldp_client` measures in a process that has loaded no numpy, pyarrow or numba.
"""

from __future__ import annotations

import sys
import time

from hushcount.ldp.client.client import Client
from hushcount.ldp.wire.codes import masks
from hushcount.ldp.wire.encodings import PackedWords, Words
from hushcount.ldp.wire.groups import Group
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.questions import Chunk, CodeBit, Prefix

LETTERS = "abcdefghijklmnopqrstuvwxyz"
REPORTS = 5000
ROUNDS = 9
MOST_MICROSECONDS = 20.0
ALL = 1 << 32
HEAVY = ("numpy", "pyarrow", "numba")


def campaigns() -> dict[str, Manifest]:
    """Six-letter words, epsilon = 2: the shapes of the protocols."""
    tree = Group("2", 3, (Prefix(15, 1, 15), Prefix(30, 16, 18)), (ALL // 2, ALL // 2))
    chunks = tuple(Chunk(12, start, 10) for start in (0, 10, 20))
    bits = Group("2", 3, (*chunks, Prefix(30, 16, 18)), (ALL // 4,) * 4)
    code = Group("2", 1, (CodeBit(12, masks()), Prefix(29, 16, 18)), (ALL // 2, ALL // 2))
    signed = Group("1", 1, (Prefix(30, 16, 12, 1),), (ALL,))
    words, packed = Words(LETTERS, 6), PackedWords(LETTERS, 6)
    shapes = {
        "levels": ("tree_hist", words, (tree,)),
        "chunks": ("bitstogram", words, (bits,)),
        "code bits": ("bitstogram_binary", packed, (code,)),
        "two groups, signed": ("tree_hist_paper", words, (signed, signed)),
    }
    return {
        name: Manifest(protocol, encoding, "2", groups, 10_000_000, 4_102_444_800)
        for name, (protocol, encoding, groups) in shapes.items()
    }


def microseconds(manifest: Manifest) -> float:
    """CPU time of one client and its report, with secure randomness."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for nonce in range(REPORTS):
            Client(manifest, nonce).report("banana")
        best = min(best, time.process_time() - start)
    return 1e6 * best / REPORTS


def measure() -> dict[str, float]:
    """Microseconds of CPU a report, for each shape of campaign."""
    return {name: microseconds(manifest) for name, manifest in campaigns().items()}


if __name__ == "__main__":
    for shape, figure in measure().items():
        print(f"{shape}: {figure:.1f} microseconds a report (at most {MOST_MICROSECONDS:g})")
    print("loaded:", [name for name in HEAVY if name in sys.modules])
