"""TreeHist: heavy items found prefix by prefix, every user asked once. Pure Python; the search loads late."""

from __future__ import annotations

import math

from hushcount.errors import ParameterError
from hushcount.ldp.campaign import THRESHOLD, Campaign, expiry
from hushcount.ldp.encodings import Encoding
from hushcount.ldp.groups import Group
from hushcount.ldp.manifest import Manifest
from hushcount.ldp.planner import Level, TreePlan, plan_tree
from hushcount.ldp.questions import Prefix, Question
from hushcount.ldp.response import epsilon_text
from hushcount.ldp.tagged_prefix import TaggedPrefix

PROTOCOL = "tree_hist"


class TreeHist(Campaign):
    """A campaign that finds the items held by at least `threshold` of about `users` users.

    Theorem: every report is epsilon-locally differentially private.
    Neighbours: any two items of one user, or an item and none.
    Parameters: levels and shares by planner.plan_tree; without a threshold, the least that is found reliably.
    Proof: docs/proofs/ldp.md. Checked by: tests/privacy/test_ldp.py, tests/acceptance/test_ldp_tree_hist.py

    >>> from hushcount.ldp.words import Words
    >>> protocol = TreeHist(Words("abcdefghijklmnopqrstuvwxyz", 6), epsilon=2.0, users=10_000_000)
    >>> len(protocol.client(nonce=7).report("tea"))
    18
    """

    __slots__ = ("plan",)

    def __init__(
        self,
        encoding: Encoding,
        *,
        epsilon: float | str,
        users: int,
        threshold: float | None = None,
        symbol_bits: int | None = None,
        expires: int | None = None,
    ) -> None:
        self.plan: TreePlan = plan_tree(
            encoding, epsilon, users, threshold=threshold, symbol_bits=symbol_bits
        )
        text = epsilon_text(epsilon)
        questions = tuple(_question(level) for level in self.plan.levels)
        group = Group(text, self.plan.symbol_bits, questions, self.plan.shares)
        parameters = {THRESHOLD: math.ceil(self.plan.threshold)}
        super().__init__(Manifest(PROTOCOL, encoding, text, (group,), users, expiry(expires), parameters))


def _question(level: Level) -> Question:
    if level.tag_bits:
        return TaggedPrefix(level.bits, level.tag_bits, level.rows, level.cell_bits)
    return Prefix(level.bits, level.rows, level.cell_bits)


def levels_of(manifest: Manifest) -> tuple[tuple[TaggedPrefix, ...], Prefix]:
    """The questions about prefixes, shortest first, and the one about whole items, or raise."""
    questions = manifest.groups[0].questions
    *prefixes, last = questions
    tagged = tuple(question for question in prefixes if isinstance(question, TaggedPrefix))
    lengths = [question.bits for question in tagged]
    tags = {question.tag_bits for question in tagged}
    fitting = len(manifest.groups) == 1 and len(tagged) == len(prefixes) and len(tags) <= 1
    if not fitting or lengths != sorted(set(lengths)) or not _is_whole(last, manifest.encoding.width):
        raise ParameterError(
            "tree_hist needs prefixes with one length of tags, shortest first, then the item."
        )
    assert isinstance(last, Prefix)
    return tagged, last


def _is_whole(question: Question, width: int) -> bool:
    return isinstance(question, Prefix) and question.bits == width and not question.signed
