"""TreeHist: heavy items are found prefix by prefix, and every user is asked once. Pure Python.

A plan, made before any data are collected, fixes levels and shares and says what can be found.
Formulas: docs/ldp.md.
Checked by: tests/unit/ldp/protocols/tree_hist, tests/acceptance/test_ldp_tree_hist.py
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hushcount.errors import ManifestError
from hushcount.ldp.protocols import campaign
from hushcount.ldp.protocols.campaign import CampaignPlan, PlannedCampaign, above, noise_reach, threshold_of
from hushcount.ldp.wire.encodings import Encoding
from hushcount.ldp.wire.groups import Group, whole_shares
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.prefixes import count_prefixes
from hushcount.ldp.wire.questions import Prefix, TaggedPrefix
from hushcount.ldp.wire.response import (
    ResponseDistribution,
    best_symbol_bits,
    check_symbol_bits,
    epsilon_text,
)
from hushcount.privacy import check_count

WIDEST_TABLE = 20  # items of so many bits are cells themselves
CELL_BITS = 18
PREFIX_CELL_BITS = 16
ITEM_ROWS = 16
PREFIX_ROWS = 16
KEPT = 1 << 11  # tagged prefixes that noise alone keeps at the first level, on average at most
CHILDREN_KEPT = 1 / 64  # fraction of the children of a prefix that noise alone keeps at later levels
MARGIN = 2.5  # standard deviations below the threshold down to which a prefix is kept
_LEAST_SHARE = 0.02
# Each level asks on average at least this many holders of an item at the threshold; with fewer, chance could
# miss them all.
_LEAST_HOLDERS = 32
_MOST_PREFIX_SHARE = 0.5
_NODES_BITS = 24  # about 2^24 tagged prefixes are tried at the first level
MOST_TAG_BITS = 10


@dataclass(frozen=True, slots=True)
class Level:
    """One question, for a tagged prefix or the whole item, and the share of the users who are asked it."""

    question: TaggedPrefix | Prefix
    candidates: float  # tried at this level, on average at most
    deviations: float  # that must lie between noise and the threshold
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class TreePlan(CampaignPlan):
    """What TreeHist asks, and what it can find."""

    symbol_bits: int
    levels: tuple[Level, ...]

    @property
    def memory(self) -> int:
        """Most bytes that the aggregator needs when all users have reported and it answers.

        A cell takes 16 bytes (table, transform and a copy of it), a report 18 and its nonce in the set 54.
        """
        cells = sum(level.question.tables << level.question.cell_bits for level in self.levels)
        return 16 * cells + 72 * self.users

    @property
    def shares(self) -> tuple[int, ...]:
        """The shares of the levels: integers that sum to 2^32."""
        return whole_shares([level.share for level in self.levels])

    def chance_of(self, count: float, threshold: float | None = None) -> float:
        """Return the probability that an item with this count is published at a threshold."""
        limit = max(self.threshold if threshold is None else threshold, self.noise_limit)
        most = min(limit, self.users)
        chance = above((limit - count) / math.sqrt(self.response.variance(count, self.users, self.users)))
        for level in self.levels[:-1]:
            asked = level.share * self.users
            kept = limit - MARGIN * math.sqrt(self.response.variance(most, self.users, asked))
            chance *= above((kept - count) / math.sqrt(self.response.variance(count, self.users, asked)))
        return chance

    @property
    def noise_limit(self) -> float:
        """The estimate below which nothing is published, because noise alone would reach it too often."""
        return self.deviation * noise_reach(self.levels[-1].candidates)


def choose_cuts(width: int, symbol_bits: int) -> tuple[int, ...]:
    """Return where the levels end: about 15 bits first and last, 10 between, at ends of symbols if possible.

    >>> choose_cuts(30, 5), choose_cuts(60, 5), choose_cuts(20, 1), choose_cuts(72, 9)
    ((15, 30), (15, 25, 35, 45, 60), (20,), (18, 27, 36, 45, 54, 63, 72))
    """
    if width <= WIDEST_TABLE:
        return (width,)
    unit = symbol_bits if symbol_bits <= 10 else 1
    first = 15 // unit * unit
    cuts = [first if first >= 12 else max(18 // unit * unit, unit)]
    while width - cuts[-1] > 15 // unit * unit:
        cuts.append(cuts[-1] + 10 // unit * unit)
    return (*cuts, width)


def plan_tree(
    encoding: Encoding,
    epsilon: float | str,
    users: int,
    *,
    threshold: float | None = None,
    symbol_bits: int | None = None,
) -> TreePlan:
    """Return the plan of a campaign; the parameters are those of `TreeHist`."""
    text = epsilon_text(epsilon)
    bits = best_symbol_bits(float(text)) if symbol_bits is None else check_symbol_bits(symbol_bits)
    response = ResponseDistribution.of(text, bits)
    people = check_count("users", users)
    cuts = choose_cuts(encoding.width, encoding.symbol_bits)
    levels = _levels(encoding, cuts)
    deviation = math.sqrt(people * response.absent)
    last = MARGIN + noise_reach(levels[-1].candidates)
    pruning = math.sqrt(sum(level.deviations**2 for level in levels[:-1]))
    least = deviation * max(last, pruning / math.sqrt(_MOST_PREFIX_SHARE))
    wanted = threshold_of(threshold, least, people)
    shared = _shared(levels, deviation / wanted, _LEAST_HOLDERS / wanted)
    return TreePlan(people, response, wanted, least, bits, shared)


def _levels(encoding: Encoding, cuts: Sequence[int]) -> list[Level]:
    """Return the levels without shares, and what each needs so that noise alone keeps few prefixes."""
    valid = [float(min(count_prefixes(encoding, bits), 1 << 1000)) for bits in cuts]
    tag_bits = min(max(math.floor(_NODES_BITS - math.log2(valid[0])), 4), MOST_TAG_BITS)
    levels = []
    candidates = valid[0] * 2**tag_bits
    for number, bits in enumerate(cuts[:-1]):
        kept = min(KEPT / candidates, 0.5) if number == 0 else CHILDREN_KEPT
        question = TaggedPrefix(bits, tag_bits, PREFIX_ROWS, min(PREFIX_CELL_BITS, bits + tag_bits - 1))
        levels.append(Level(question, candidates, MARGIN + campaign.upper_quantile(kept)))
        candidates = 2 * KEPT * valid[number + 1] / valid[number]
    width = cuts[-1]
    whole = Prefix(width, 1, width) if width <= WIDEST_TABLE else Prefix(width, ITEM_ROWS, CELL_BITS)
    return [*levels, Level(whole, valid[-1], 0.0)]


def _shared(levels: Sequence[Level], relative_deviation: float, sampled: float) -> tuple[Level, ...]:
    """Return levels with shares: enough users for the prefixes of each to stand out (docs/ldp.md, section 4).

    `sampled` is the share that asks enough holders of an item at the threshold, whatever the noise.
    """
    least = max(_LEAST_SHARE / len(levels), min(sampled, _MOST_PREFIX_SHARE / max(len(levels) - 1, 1)))
    enough = [(level.deviations * relative_deviation) ** 2 for level in levels[:-1]]
    scale = min(_MOST_PREFIX_SHARE / max(sum(enough), 1e-9), 1.0)
    shares = [max(wanted * scale, least) for wanted in enough]
    shares.append(1 - sum(shares))
    return tuple(replace(level, share=share) for level, share in zip(levels, shares, strict=True))


@dataclass(kw_only=True, eq=False, repr=False)
class TreeHist(PlannedCampaign):
    """A campaign that finds the items held by at least `threshold` of about `users` users.

    Theorem: every report is epsilon-locally differentially private.
    Neighbours: any two items of one user, or an item and none.
    Parameters: levels and shares by plan_tree.
    Proof: docs/proofs/ldp.md. Checked by: tests/privacy/test_ldp.py, tests/acceptance/test_ldp_tree_hist.py

    Parameters
    ----------
    encoding:
        How items become integers, such as `Words` or `Integers`.
    epsilon:
        Privacy loss of one report, above 0 and at most 20; a text keeps its decimal digits exactly.
    users:
        About how many users will report; a public number.
    threshold:
        Smallest count to find; by default the smallest that is found reliably.
    symbol_bits:
        Bits of a response, 1 to 10; by default those of the smallest variance.
    expires:
        End of the campaign in seconds since 1970; by default thirty days from now.
    reports:
        Reports of each user, each about another of their items at an equal part of epsilon; by default one.
    terms:
        Who runs the campaign and what they promise, as `hushcount.ldp.Terms`; by default nobody is named.

    Examples
    --------
    >>> from hushcount.ldp.wire.encodings import Words
    >>> protocol = TreeHist(Words("abcdefghijklmnopqrstuvwxyz", 6), epsilon=2.0, users=10_000_000)
    >>> len(protocol.client().report("tea"))
    27
    """

    symbol_bits: int | None = None
    plan: TreePlan = field(init=False)

    def _groups(self, epsilon: str) -> tuple[Group, ...]:
        """Return one group, with a question for each level of the plan."""
        self.plan = plan_tree(
            self.encoding, epsilon, self.answers, threshold=self.threshold, symbol_bits=self.symbol_bits
        )
        questions = tuple(level.question for level in self.plan.levels)
        return (Group(epsilon, self.plan.symbol_bits, questions, self.plan.shares),)


def levels_of(manifest: Manifest) -> tuple[tuple[TaggedPrefix, ...], Prefix]:
    """Return the questions about prefixes, shortest first, and the one about whole items, or raise."""
    *prefixes, last = manifest.groups[0].questions
    tagged = tuple(question for question in prefixes if isinstance(question, TaggedPrefix))
    lengths = [question.bits for question in tagged]
    tags = {question.tag_bits for question in tagged}
    complete = len(manifest.groups) == 1 and len(tagged) == len(prefixes) and len(tags) <= 1
    complete = complete and max(tags, default=0) <= MOST_TAG_BITS
    whole = isinstance(last, Prefix) and last.bits == manifest.encoding.width and not last.signed
    if not complete or not whole or lengths != sorted(set(lengths)):
        raise ManifestError(
            "the questions of tree_hist must ask for prefixes, shortest first and with tags of one length"
            f" of at most {MOST_TAG_BITS} bits, and then for the whole item."
        )
    assert isinstance(last, Prefix)
    return tagged, last
