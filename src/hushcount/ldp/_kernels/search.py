"""Search the children of many prefixes for those whose matches, summed over the rows, reach a cut.

A hash is ((b + sum of a_i x_i) mod 2^64) >> shift over the 32-bit words x_i of a key. It is linear before its
shift, and the suffix of a child lies in the lowest word, so the hash of a child is
(base of its prefix + factor * suffix) >> shift: one multiplication and one lookup per row.

Most children are nowhere near the cut, so some of the rows are summed first, and the rest only if that sum
keeps up. The largest row is also left out once: what shares one cell with a very heavy item has nothing in
the other rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import inlined, kernel


@inlined
def _sum(matches: Any, bases: Any, factors: Any, suffix: Any, rows: Any) -> Any:
    """Return the sum of the matches of base + factor * suffix over rows (first, stop, shift)."""
    first, stop, shift = rows
    total = 0
    for row in range(first, stop):
        total += matches[row, np.int64((bases[row] + factors[row] * suffix) >> shift)]
    return total


@inlined
def _largest(matches: Any, bases: Any, factors: Any, suffix: Any, shift: Any) -> Any:
    """Return the largest matches that base + factor * suffix has in one row."""
    largest = matches[0, np.int64((bases[0] + factors[0] * suffix) >> shift)]
    for row in range(1, len(factors)):
        largest = max(largest, matches[row, np.int64((bases[row] + factors[row] * suffix) >> shift)])
    return largest


@kernel
def search(oracle: Any, nodes: Any, suffixes: Any, cuts: Any, found: Any) -> int:
    """Try every suffix after every node; return how many reach the cuts, even if `found` has no room left.

    `oracle` is (matches[row, cell], factors[row], shift). `nodes` is (bases[node, row], tagging, before):
    before[node, tag] is the sum of the levels before, or the smallest integer for a tag that was not kept.
    `tagging` is (bases[node], factor, shift) of the hash that gives the tag of a child; with factor and bases
    0, all children have the tag 0. `cuts` is (rows looked at first, their cut, the cut with the levels
    before, the cut of this level alone, the cut without its largest row). `found` is (node, suffix, sum of
    this level).

    An item that only shares prefix and tag with a very heavy one has a large sum at earlier levels but not at
    this one, hence the cut of this level alone.
    """
    matches, factors, shift = oracle
    bases, tagging, before = nodes
    tag_bases, tag_factor, tag_shift = tagging
    head, first_cut, cut, own_cut, trimmed_cut = cuts
    found_node, found_suffix, found_sum = found
    rows = len(factors)
    dropped = np.iinfo(np.int64).min
    count = 0
    for node in range(len(tag_bases)):
        for suffix in suffixes:
            earlier = before[node, np.int64((tag_bases[node] + tag_factor * suffix) >> tag_shift)]
            if earlier == dropped:
                continue
            own = _sum(matches, bases[node], factors, suffix, (0, head, shift))
            if own < first_cut:
                continue
            own += _sum(matches, bases[node], factors, suffix, (head, rows, shift))
            if own < own_cut or own + earlier < cut:
                continue
            if own - _largest(matches, bases[node], factors, suffix, shift) >= trimmed_cut:
                if count < len(found_node):
                    found_node[count] = node
                    found_suffix[count] = suffix
                    found_sum[count] = own
                count += 1
    return count
