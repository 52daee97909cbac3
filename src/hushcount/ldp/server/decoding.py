"""What a decoder is given, the limits on its work, and what it found as a `Release`.

Limits are checked before a decoder starts. A release has items, counts and intervals, and the guarantee of
the local model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hushcount.compiled.arrays import Floats
from hushcount.errors import ManifestError, ParameterError
from hushcount.ldp import registry
from hushcount.ldp.server.local_error import ErrorOfCounts, LocalError, Step
from hushcount.ldp.server.tallies import QuestionTallies
from hushcount.ldp.wire.encodings import Bytes, Encoding, Integers, Item
from hushcount.ldp.wire.manifest import LARGEST_INTEGER, THRESHOLD, Manifest
from hushcount.privacy import LOCAL_USER, Guarantee
from hushcount.releases.made import Made
from hushcount.releases.release import Release
from hushcount.releases.stored.documents import content_plain
from hushcount.releases.stored.exact import digest

if TYPE_CHECKING:
    import pyarrow as pa

# Every campaign that TreeHist and Bitstogram plan stays below these numbers, whatever its encoding.
MOST_CELLS = 1 << 27  # of all tables together: 1.5 GB while the collector answers
MOST_TABLES = 1 << 17
MOST_LISTED = 1 << 24  # candidates, of 64 bytes each while they are listed
MOST_LOOKUPS = 1 << 32  # of cells, while heavy items are looked for: about a minute

PROOF = "docs/proofs/ldp.md"
ASSUMPTIONS = (
    "every client answers a campaign once, and draws its responses from a secure generator",
    "nonces do not depend on items",
)


@dataclass(frozen=True, slots=True)
class Collected:
    """All that was reported in a campaign: the tables of every question of every group."""

    manifest: Manifest
    reports: int
    groups: tuple[tuple[QuestionTallies, ...], ...]


@dataclass(frozen=True, slots=True)
class Found:
    """Heavy items: encoded, with estimates, their error and the threshold they were accepted at."""

    values: Sequence[int]
    estimates: Floats
    error: ErrorOfCounts
    threshold: float
    notes: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()  # that an item has to pass, if it is known how surely it does


class Frequencies(NamedTuple):
    """Unbiased estimates of counts, which may be negative, and their standard deviations."""

    estimates: Floats
    deviations: Floats


@dataclass(frozen=True, slots=True)
class Decoder:
    """How the heavy items of a campaign are found, how much work that may be, and how others are estimated.

    `find(collected, threshold)` returns the items whose estimated count reaches the threshold, or that of
    the manifest for None. `lookups(manifest)` bounds the cells that it looks up, `listed(manifest)` the
    candidates that it lists at once, from public numbers alone. `estimate(collected, values)` returns the
    counts of encoded items, found or not.
    """

    find: Callable[[Collected, float | None], Found]
    lookups: Callable[[Manifest], int]
    estimate: Callable[[Collected, Sequence[int]], Frequencies]
    listed: Callable[[Manifest], int] = lambda _: 0


def check_work(manifest: Manifest) -> None:
    """Raise if the campaign would need too much memory or time, before any report is read."""
    decoder = registry.DECODERS[manifest.protocol]
    questions = [question for group in manifest.groups for question in group.questions]
    cells = sum(question.tables << question.cell_bits for question in questions)
    tables = sum(question.tables for question in questions)
    for what, needed, most in (
        ("cells", cells, MOST_CELLS),
        ("tables", tables, MOST_TABLES),
        ("lookups of cells", decoder.lookups(manifest), MOST_LOOKUPS),
        ("candidates at once", decoder.listed(manifest), MOST_LISTED),
    ):
        if needed > most:
            raise ManifestError(
                f"the manifest asks the collector for {needed:,} {what}, and at most {most:,} are allowed."
            )
    check_central(manifest)


def check_central(manifest: Manifest) -> None:
    """Raise unless the central guarantee that a manifest claims, if any, is proved for its smallest batch."""
    claim = manifest.terms.central
    if claim is None:
        return
    from hushcount.ldp.protocols.shuffling import shuffled_divergence

    (group,), (epsilon, delta) = manifest.groups, claim
    local, users = float(group.epsilon), manifest.terms.min_batch
    if shuffled_divergence(local, symbol_bits=group.symbol_bits, users=users, epsilon=epsilon) > delta:
        raise ManifestError(
            f"shuffled batches of {users:,} reports with epsilon {group.epsilon} do not reach the central"
            f" guarantee ({epsilon:g}, {delta:g}). Claim less, use a smaller epsilon, or larger batches."
        )


def check_threshold(threshold: float | None) -> float | None:
    """Return a threshold above 0, or None, or raise."""
    if threshold is None:
        return None
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 < threshold < math.inf:
        raise ParameterError(f"threshold must be a finite number above 0, got {threshold!r}.")
    return float(min(threshold, LARGEST_INTEGER))  # no campaign has more users


def limit_of(collected: Collected, threshold: float | None) -> float:
    """Return the given threshold, or by default that of the manifest."""
    if threshold is not None:
        return threshold
    named = collected.manifest.parameters.get(THRESHOLD)
    if not isinstance(named, int) or named < 1:
        raise ManifestError("the parameters of the manifest must have a threshold of at least 1.")
    return float(named)


def release_of(collected: Collected, found: Found) -> Release:
    """Return what a decoder found as a release."""
    encoding = collected.manifest.encoding
    counts = np.maximum(np.rint(found.estimates), 0).astype(np.int64)
    largest = float(counts.max()) if len(counts) else 0.0
    asked = tuple(float(step.asked) for step in found.steps) or None
    cuts = tuple(float(step.cut) for step in found.steps) or None
    error = LocalError(found.error, largest, len(counts), asked, cuts)
    floor = math.ceil(found.threshold)
    promise = guarantee_of(collected.manifest, collected.reports)
    recipe = recipe_of(collected.manifest, collected.reports)
    notes = (*found.notes, *notes_of(collected.manifest))
    noted = Release.of(keys_of(encoding, found.values), counts, promise, error, floor).with_notes(*notes)
    # the same reports give the same release, whenever they are asked
    return replace(noted, made=replace(Made.now(recipe), id=digest(content_plain(noted))))


def recipe_of(manifest: Manifest, reports: int) -> dict[str, object]:
    """Return the public numbers from which the guarantee and the noise of one report follow."""
    return {"mechanism": manifest.protocol, "manifest": manifest.to_json(), "reports": reports}


def keys_of(encoding: Encoding, values: Sequence[int]) -> pa.Array:
    """Return encoded items as a column of keys."""
    import pyarrow as pa

    return pa.array([key_of(encoding, value) for value in values], _key_type(encoding))


def key_of(encoding: Encoding, value: int) -> Item | None:
    """Return an encoded item as a key; integers of more than 64 bits become text."""
    item = encoding.decode(value)
    return str(item) if isinstance(item, int) and encoding.width > 64 else item


def _key_type(encoding: Encoding) -> pa.DataType:
    """Return the Arrow type of the keys of an encoding."""
    import pyarrow as pa

    if isinstance(encoding, Integers) and encoding.width <= 64:
        return pa.int64() if encoding.width < 64 else pa.uint64()
    return pa.binary() if isinstance(encoding, Bytes) else pa.string()


def notes_of(manifest: Manifest) -> tuple[str, ...]:
    """Say what a count counts if users have several items, and what holds of shuffled reports."""
    notes = []
    if manifest.reports > 1:
        notes.append(
            f"Each user sent {manifest.reports} reports, each about another of their items: a count is the"
            f" number of users who hold the item, as far as it is among the {manifest.reports} items that"
            " were chosen of those who hold more."
        )
    terms = manifest.terms
    if terms.central is not None:
        epsilon, delta = terms.central
        notes.append(
            f"Central guarantee, for one user's item replaced: ({epsilon:g}, {delta:g})-differential privacy"
            f" against anyone who sees only batches of at least {terms.min_batch:,} honest reports that"
            f" {terms.relay} shuffled. It is void if relay and collector are in one hand, or if reports are"
            " linked to users by address, time or order; the local guarantee remains."
        )
    return tuple(notes)


def guarantee_of(manifest: Manifest, reports: int) -> Guarantee:
    """Return the guarantee that every client was given."""
    claim = manifest.terms.central
    central = {} if claim is None else {"central_epsilon": claim[0], "central_delta": claim[1]}
    several = {} if manifest.reports == 1 else {"reports_per_user": manifest.reports}
    return Guarantee(
        epsilon=float(manifest.epsilon),
        delta=0.0,
        unit=LOCAL_USER,
        mechanism=manifest.protocol,
        theorem="epsilon-local differential privacy: every report is randomised before it is sent",
        proof=PROOF,
        parameters={
            "campaign": manifest.id,
            "users": manifest.users,
            "reports": reports,
            "symbol_bits": ",".join(str(group.symbol_bits) for group in manifest.groups),
            **several,
            **central,
        },
        assumptions=ASSUMPTIONS,
    )
