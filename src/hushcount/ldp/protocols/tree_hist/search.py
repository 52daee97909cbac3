"""The decoder of TreeHist: walk down the prefixes that stand out, then estimate whole items.

The reports of every level are about a prefix with a tag of the item, so the sums of earlier levels are kept
and count at every later level and in the final estimate (docs/ldp.md, section 4).
Checked by: tests/unit/ldp/protocols/tree_hist/test_search.py, tests/acceptance/test_ldp_tree_hist.py
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hushcount.compiled.arrays import Counts, ItemWords, Nonces, Tables
from hushcount.ldp._kernels.search import search
from hushcount.ldp.protocols.campaign import noise_reach, upper_quantile
from hushcount.ldp.protocols.tree_hist.protocol import KEPT, MARGIN, levels_of
from hushcount.ldp.server.decoding import Collected, Decoder, Found, limit_of
from hushcount.ldp.server.frequency import FrequencyOracle, peel
from hushcount.ldp.server.local_error import Step
from hushcount.ldp.server.queries import pooled
from hushcount.ldp.server.tallies import QuestionTallies, to_words
from hushcount.ldp.wire.encodings import Encoding
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.prefixes import State, count_prefixes, state_of, suffixes
from hushcount.ldp.wire.public_randomness import BUCKET, CELL, SHARED, words_of
from hushcount.ldp.wire.questions import Prefix, TaggedPrefix

MOST_NODES = 1 << 16  # tagged prefixes kept at a level: those with the largest sums
MOST_ITEMS = 1 << 14
_MOST_BY_NOISE = 8 * KEPT
_OWN_MARGIN = 3.5  # standard deviations below the threshold at which the last level gives up an item
_DROPPED = int(np.iinfo(np.int64).min)  # marks a tag that was not kept
_Oracle = tuple[Tables, Nonces, np.uint64]  # matches by row and cell, factors of the rows, shift
_Hits = tuple[Counts, Nonces, Counts]  # nodes, suffixes and sums of what was found


@dataclass(frozen=True, slots=True)
class _Nodes:
    """Prefixes of `bits` bits with their tags, and the sums of their matches at every level so far."""

    bits: int
    prefixes: list[int]
    tags: Counts
    sums: Counts  # [level, node]

    def take(self, which: Counts) -> _Nodes:
        """Return some of the nodes."""
        return _Nodes(self.bits, [self.prefixes[i] for i in which], self.tags[which], self.sums[:, which])

    def largest(self, most: int) -> _Nodes:
        """Return the nodes with the largest sums at the last level; earlier sums may be a heavy parent's."""
        if len(self.prefixes) <= most:
            return self
        return self.take(np.sort(np.argpartition(self.sums[-1], -most)[-most:]))


class _Earlier(NamedTuple):
    """What the levels before say about the children of nodes: a sum for each tag that a child may have.

    A child has the tag (base of its node + factor * suffix) >> shift.
    """

    sums: Counts  # [node, tag], _DROPPED for a tag that was not kept
    bases: Nonces
    factor: np.uint64
    shift: np.uint64


def decode(collected: Collected, threshold: float | None) -> Found:
    """Return the items whose estimate reaches the threshold, and what noise alone hardly reaches."""
    manifest = collected.manifest
    tallies = collected.groups[0]
    oracle = FrequencyOracle(tallies, collected.reports)
    everything = count_prefixes(manifest.encoding, manifest.encoding.width)
    noise = oracle.error().of_absent * noise_reach(everything)
    limit = max(limit_of(collected, threshold), noise)
    walk = _Search(collected, limit)
    values, estimates, error = peel(oracle, walk.items(), limit)
    return Found(values, estimates, error, limit, steps=walk.steps())


def lookups(manifest: Manifest) -> int:
    """Return about how many cells the search looks up, if as many prefixes are kept as planned."""
    tagged, last = levels_of(manifest)
    tags = 1 << tagged[0].tag_bits if tagged else 1
    rows = [*(question.rows for question in tagged), 1 + last.rows // tags]  # few whole items have the tag
    _, *counts = _prefixes(manifest)
    children = [KEPT * (more // fewer + 1) for fewer, more in pairwise(counts)]
    return sum(map(operator.mul, [tags * counts[0], *children], rows))


def listed(manifest: Manifest) -> int:
    """Return about how many ways to continue a prefix are listed at once, at the level with most of them."""
    return max(-(-more // fewer) for fewer, more in pairwise(_prefixes(manifest)))


def _prefixes(manifest: Manifest) -> list[int]:
    """Return how many valid prefixes there are at the root and at every level."""
    tagged, last = levels_of(manifest)
    ends = [*(question.bits for question in tagged), last.bits]
    return [1, *(count_prefixes(manifest.encoding, bits) for bits in ends)]


DECODER = Decoder(decode, lookups, pooled, listed)


class _Search:
    """One walk down the tree for items of at least `limit` users."""

    def __init__(self, collected: Collected, limit: float) -> None:
        self.manifest = collected.manifest
        self.encoding = self.manifest.encoding
        self.tagged, last = levels_of(self.manifest)
        self.questions: tuple[TaggedPrefix | Prefix, ...] = (*self.tagged, last)
        self.tallies = collected.groups[0]
        self.limit = limit
        self.users = collected.reports

    def items(self) -> list[int]:
        """Return encoded items whose matches come near the limit."""
        tags = 1 << self.tagged[0].tag_bits if self.tagged else 1
        nodes = _Nodes(0, [0] * tags, np.arange(tags), np.zeros((0, tags), np.int64))
        for number in range(len(self.tagged)):
            nodes = self._children(number, nodes)
        found = self._whole(nodes) if self.tagged else self._children(0, nodes)
        return found.largest(MOST_ITEMS).prefixes

    def steps(self) -> tuple[Step, ...]:
        """Return what an item must reach: at each level, at all levels so far, and at the end."""
        asked = [tally.reports for tally in self.tallies]
        if not all(asked):
            return ()
        levels = len(self.tagged)
        margins = [(reports, MARGIN) for reports in asked[:-1]] + [(asked[-1], _OWN_MARGIN)] * bool(levels)
        margins += [(sum(asked[:end]), MARGIN) for end in range(2, levels + 1)]
        sums = [(reports, self._cut(self.limit, reports, margin)) for reports, margin in margins]
        if levels:
            sums.append((asked[0], self._noise()))
        scale = self.users / self.tallies[0].response.gain
        steps = [Step(reports, cut * scale / reports) for reports, cut in sums]
        return (*steps, Step(sum(asked), self.limit))

    def _cut(self, count: float, asked: float, deviations: float) -> int:
        """Return the sum of matches, over `asked` reports, that an item with the count hardly stays below.

        It is so many standard deviations of such an item's sum below its mean: noise of the responses, its
        holders' own included, and which of its holders were asked.
        """
        response = self.tallies[0].response
        share = asked / self.users
        variance = response.variance(min(count, self.users), self.users, asked) if asked else 0.0
        return math.ceil(response.gain * share * (count - deviations * math.sqrt(variance)))

    def _cuts(self, number: int, head: int, margins: tuple[float, float]) -> tuple[int, ...]:
        """Return, for a level, the rows looked at first and the cuts that the kernel needs."""
        asked = [tally.reports for tally in self.tallies[: number + 1]]
        rows = self.questions[number].rows
        looked = asked[-1] * head / rows
        own, together = margins
        return (
            head,
            self._cut(self.limit, looked, own + 1),
            self._cut(self.limit, sum(asked), together),
            self._cut(self.limit, asked[-1], own),
            self._cut(self.limit * (1 - 1 / rows), asked[-1], own + 1) if rows > 1 else _DROPPED,
        )

    def _children(self, number: int, nodes: _Nodes) -> _Nodes:
        """Return the children of all nodes at the next level that are not too far below the limit."""
        question = self.questions[number]
        margin = MARGIN if self.tagged else 1.0
        cuts = self._cuts(number, (question.rows + 1) // 2, (margin, margin))
        if number == 0 and self.tagged:
            head, first_cut, cut, own_cut, trimmed_cut = cuts
            least = self._noise()
            cuts = (head, first_cut, max(cut, least), max(own_cut, least), trimmed_cut)
        keys = [
            int(tag) << question.bits | prefix << (question.bits - nodes.bits)
            for prefix, tag in zip(nodes.prefixes, nodes.tags, strict=True)
        ]
        # Every node has one tag, which is that of all its children: with these numbers the tag of each is 0.
        no_bases = np.zeros(len(keys), np.uint64)
        earlier = _Earlier(nodes.sums.sum(axis=0)[:, None], no_bases, np.uint64(0), np.uint64(63))
        found = self._found(number, nodes, keys, earlier, cuts)
        return self._consistent(found).largest(MOST_NODES)

    def _found(
        self, number: int, nodes: _Nodes, keys: list[int], earlier: _Earlier, cuts: tuple[int, ...]
    ) -> _Nodes:
        """Return the children that reach the cuts; `keys` are the nodes as the question hashes them."""
        question = self.questions[number]
        bases, oracle = _hashing(self.tallies[number], keys, question.key_bits)
        step = question.bits - nodes.bits
        found = []
        for state, which in _by_state(self.encoding, nodes.prefixes, nodes.bits).items():
            tagging = (earlier.bases[which], earlier.factor, earlier.shift)
            some = (bases[which], tagging, earlier.sums[which])
            chosen, tails, sums = _run(oracle, some, suffixes(self.encoding, state, step), cuts)
            found.append((which[chosen], tails, sums))
        return _grown(nodes, found, step)

    def _noise(self) -> int:
        """Return a sum that noise alone does not reach too often at the first level, whatever the limit."""
        question = self.tagged[0]
        candidates = count_prefixes(self.encoding, question.bits) << question.tag_bits
        z = upper_quantile(min(_MOST_BY_NOISE / candidates, 0.5))
        return self._cut(0.0, self.tallies[0].reports, -z)

    def _consistent(self, nodes: _Nodes) -> _Nodes:
        """Return the nodes that are near the limit also by their last two levels, last three, and so on.

        A node that nobody holds, below a very heavy one, passes one level by chance but hardly several.
        """
        fits = np.ones(len(nodes.prefixes), bool)
        levels = len(nodes.sums)
        for first in range(1, levels - 1):
            asked = sum(tally.reports for tally in self.tallies[first:levels])
            fits &= nodes.sums[first:].sum(axis=0) >= self._cut(self.limit, asked, MARGIN)
        return nodes if fits.all() else nodes.take(np.flatnonzero(fits))

    def _whole(self, nodes: _Nodes) -> _Nodes:
        """Return the whole items below the nodes whose tag is that of the node."""
        number = len(self.tagged)
        cuts = self._cuts(number, self.questions[number].rows // 4, (_OWN_MARGIN, 1.0))
        prefixes = sorted(set(nodes.prefixes))
        places = {prefix: place for place, prefix in enumerate(prefixes)}
        tag_bits = self.tagged[0].tag_bits
        sums = np.full((len(prefixes), 1 << tag_bits), _DROPPED, np.int64)
        sums[[places[prefix] for prefix in nodes.prefixes], nodes.tags] = nodes.sums.sum(axis=0)
        width = self.encoding.width
        keys = [prefix << (width - nodes.bits) for prefix in prefixes]
        constants = self.manifest.public.constants(BUCKET, (0, SHARED, 0), 1 + words_of(width))
        bases = _bases(to_words(keys, width), constants)
        earlier = _Earlier(sums, bases, np.uint64(constants[1]), np.uint64(64 - tag_bits))
        empty = np.zeros((0, len(prefixes)), np.int64)
        parents = _Nodes(nodes.bits, prefixes, np.zeros(len(prefixes), np.int64), empty)
        return self._found(number, parents, keys, earlier, cuts)


def _hashing(tally: QuestionTallies, keys: list[int], width: int) -> tuple[Nonces, _Oracle]:
    """Return the hash of a question before its shift: bases[key, row], and what the kernels look up."""
    shift = np.uint64(64 - tally.question.cell_bits)
    if width == tally.question.cell_bits:  # the key is its own cell, so the hash only shifts it to the top
        bases = (np.array(keys, np.uint64) << shift)[:, None]
        return bases, (_narrow(tally.matches), np.array([1 << int(shift)], np.uint64), shift)
    place = tally.place
    constants = [
        place.public.constants(CELL, (place.group, place.question, row), 1 + words_of(width))
        for row in range(tally.question.rows)
    ]
    words = to_words(keys, width)
    bases = np.stack([_bases(words, row) for row in constants], axis=1)
    return bases, (_narrow(tally.matches), np.array([row[1] for row in constants], np.uint64), shift)


def _narrow(matches: Counts) -> Tables:
    """Return the same numbers in half the memory if they fit."""
    return matches.astype(np.int32) if np.abs(matches).max() < 1 << 31 else matches


def _bases(words: ItemWords, constants: tuple[int, ...]) -> Nonces:
    """Return b + sum of a_i x_i mod 2^64 for every row of words."""
    factors = np.array(constants[1:], np.uint64)
    total = (words.astype(np.uint64) * factors).sum(axis=1, dtype=np.uint64)
    return np.asarray(total + np.uint64(constants[0]), np.uint64)


def _by_state(encoding: Encoding, prefixes: list[int], bits: int) -> dict[State, Counts]:
    """Return the places of prefixes, grouped by which bits may follow."""
    groups: dict[State, list[int]] = {}
    for node, prefix in enumerate(prefixes):
        groups.setdefault(state_of(encoding, prefix, bits), []).append(node)
    return {state: np.array(which, np.int64) for state, which in groups.items()}


def _run(oracle: _Oracle, nodes: tuple[object, ...], tails: Nonces, cuts: tuple[int, ...]) -> _Hits:
    """Return what the kernel finds, with as much room as that takes."""
    room = 1 << 16
    while True:
        found = (np.empty(room, np.int64), np.empty(room, np.uint64), np.empty(room, np.int64))
        count = int(search(oracle, nodes, tails, cuts, found))
        if count <= room:
            return found[0][:count], found[1][:count], found[2][:count]
        room = count


def _grown(nodes: _Nodes, found: list[_Hits], step: int) -> _Nodes:
    """Return the children found, with the tags and sums of their nodes and the sums of the new level."""
    nothing = np.empty(0, np.int64)
    chosen = np.concatenate([nothing, *(nodes for nodes, _, _ in found)])
    tails = [int(tail) for _, tails, _ in found for tail in tails]
    own = np.concatenate([nothing, *(sums for _, _, sums in found)])
    prefixes = [nodes.prefixes[node] << step | tail for node, tail in zip(chosen, tails, strict=True)]
    sums = np.concatenate((nodes.sums[:, chosen], own[None]))
    return _Nodes(nodes.bits + step, prefixes, nodes.tags[chosen], sums)
