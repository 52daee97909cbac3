"""The decoder of TreeHistPaper: the binary tree level by level, then the items once more by all users."""

from __future__ import annotations

import numpy as np

from hushcount.ldp.decoding import Collected, Found, limit_of
from hushcount.ldp.paper_oracle import MedianOracle, published, refuse_other_questions
from hushcount.ldp.tree_hist_paper import PUBLISHED, questions_of

MOST_PREFIXES = 1 << 14  # followed from a level, those with the largest estimates


def decode(collected: Collected, threshold: float | None) -> Found:
    """The items whose prefixes all reach the threshold, and whose final estimate does (002, Algorithm 3)."""
    manifest = collected.manifest
    width = manifest.encoding.width
    last = manifest.groups[-1].questions[-1]
    refuse_other_questions(manifest, questions_of(width, last.rows, last.cell_bits))
    limit = limit_of(collected, threshold)
    prefixes = [0]
    for level in range(width):
        children = [prefix << 1 | bit for prefix in prefixes for bit in (0, 1)]
        prefixes = _followed(MedianOracle(collected, 0, level), children, width - level - 1, limit)
    final = limit if threshold is not None else float(manifest.parameters.get(PUBLISHED, limit))
    return published(collected, prefixes, final)


def _followed(oracle: MedianOracle, prefixes: list[int], shift: int, limit: float) -> list[int]:
    """The prefixes whose estimate reaches the limit; `shift` bits are missing to a whole item."""
    estimates = oracle.estimate([prefix << shift for prefix in prefixes])
    order = np.argsort(-estimates, kind="stable")[:MOST_PREFIXES]
    return [prefixes[place] for place in order if estimates[place] >= limit]
