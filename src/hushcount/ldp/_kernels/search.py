"""Search the children of many prefixes for those whose matches, summed over the rows, reach a cut.

The hash is linear before its shift, so a child's hash is a base of its prefix plus factor * suffix. Half-way,
after the first rows, children that stay far behind are given up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled import inlined, kernel


@inlined
def _sum(matches: Any, bases: Any, factors: Any, suffix: Any, rows: Any) -> Any:
    """The matches of base + factor * suffix in some rows; `rows` is (first, stop, shift)."""
    first, stop, shift = rows
    total = 0
    for row in range(first, stop):
        total += matches[row, np.int64((bases[row] + factors[row] * suffix) >> shift)]
    return total


@kernel
def search(oracle: Any, nodes: Any, suffixes: Any, cuts: Any, found: Any) -> int:
    """Try every suffix after every node; returns how many reach the cut, also beyond the room in `found`.

    `oracle` is (matches[row, cell], factors[row], shift), `nodes` is (bases[node, row], sums of the levels
    before), `cuts` is (rows of the first look, its cut, the cut), `found` is (node, suffix, sum).
    """
    matches, factors, shift = oracle
    bases, before = nodes
    head, first_cut, cut = cuts
    found_node, found_suffix, found_sum = found
    rows = len(factors)
    count = 0
    for node in range(len(before)):
        for suffix in suffixes:
            total = before[node] + _sum(matches, bases[node], factors, suffix, (0, head, shift))
            if total < first_cut:
                continue
            total += _sum(matches, bases[node], factors, suffix, (head, rows, shift))
            if total >= cut:
                if count < len(found_node):
                    found_node[count] = node
                    found_suffix[count] = suffix
                    found_sum[count] = total
                count += 1
    return count


@kernel
def search_tagged(oracle: Any, nodes: Any, suffixes: Any, cuts: Any, found: Any) -> int:
    """The same for whole items: a node is a prefix with the tags that were kept.

    `nodes` is (bases[node, row], (bases[node], factor, shift) of the tag, before[node, tag]), where `before`
    is the least integer for a tag that was not kept. The fourth of `cuts` is for the sum without the levels
    before, which is also what is found: what shares prefix and tag with a very heavy item has no such sum.
    """
    matches, factors, shift = oracle
    bases, tagging, before = nodes
    tag_bases, tag_factor, tag_shift = tagging
    head, first_cut, cut, own_cut = cuts
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
            if own >= own_cut and own + earlier >= cut:
                if count < len(found_node):
                    found_node[count] = node
                    found_suffix[count] = suffix
                    found_sum[count] = own
                count += 1
    return count
