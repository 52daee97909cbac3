"""TreeHist: heavy items are found prefix by prefix, and every user is asked once. Pure Python."""

from __future__ import annotations

import math

from hushcount.errors import ManifestError
from hushcount.ldp.protocols.campaign import Campaign, expiry
from hushcount.ldp.protocols.tree_hist.plan import MOST_TAG_BITS, Level, TreePlan, plan_tree
from hushcount.ldp.wire.encodings import Encoding
from hushcount.ldp.wire.groups import Group
from hushcount.ldp.wire.manifest import THRESHOLD, Manifest
from hushcount.ldp.wire.questions import Prefix, Question
from hushcount.ldp.wire.response import epsilon_text
from hushcount.ldp.wire.tagged_prefix import TaggedPrefix


class TreeHist(Campaign):
    """A campaign that finds the items held by at least `threshold` of about `users` users.

    Theorem: every report is epsilon-locally differentially private.
    Neighbours: any two items of one user, or an item and none.
    Parameters: levels and shares by plan.plan_tree.
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
        Bits of a response, 1 to 5; by default those of the smallest variance.
    expires:
        End of the campaign in seconds since 1970; by default thirty days from now.

    Examples
    --------
    >>> from hushcount.ldp.wire.words import Words
    >>> protocol = TreeHist(Words("abcdefghijklmnopqrstuvwxyz", 6), epsilon=2.0, users=10_000_000)
    >>> len(protocol.client(nonce=7).report("tea"))
    18
    """

    __slots__ = ()
    plan: TreePlan

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
        plan = plan_tree(encoding, epsilon, users, threshold=threshold, symbol_bits=symbol_bits)
        text = epsilon_text(epsilon)
        questions = tuple(_question(level) for level in plan.levels)
        group = Group(text, plan.symbol_bits, questions, plan.shares)
        parameters = {THRESHOLD: math.ceil(plan.threshold)}
        end = expiry(expires)
        super().__init__(
            Manifest(self.protocol_name(), encoding, text, (group,), users, end, parameters), plan
        )


def _question(level: Level) -> Question:
    """Return the question that asks for a level of the plan."""
    if level.tag_bits:
        return TaggedPrefix(level.bits, level.tag_bits, level.rows, level.cell_bits)
    return Prefix(level.bits, level.rows, level.cell_bits)


def levels_of(manifest: Manifest) -> tuple[tuple[TaggedPrefix, ...], Prefix]:
    """Return the questions about prefixes, shortest first, and the one about whole items, or raise."""
    questions = manifest.groups[0].questions
    *prefixes, last = questions
    tagged = tuple(question for question in prefixes if isinstance(question, TaggedPrefix))
    lengths = [question.bits for question in tagged]
    tags = {question.tag_bits for question in tagged}
    complete = len(manifest.groups) == 1 and len(tagged) == len(prefixes) and len(tags) <= 1
    complete = complete and max(tags, default=0) <= MOST_TAG_BITS
    if not complete or lengths != sorted(set(lengths)) or not _is_whole(last, manifest.encoding.width):
        raise ManifestError(
            "the questions of tree_hist must ask for prefixes, shortest first and with tags of one length"
            f" of at most {MOST_TAG_BITS} bits, and then for the whole item."
        )
    assert isinstance(last, Prefix)
    return tagged, last


def _is_whole(question: Question, width: int) -> bool:
    """Return whether a question asks for the whole item without signs."""
    return isinstance(question, Prefix) and question.bits == width and not question.signed
