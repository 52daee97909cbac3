"""What a decoder found as a `Release`: items, counts, intervals, and the guarantee of the local model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from hushcount.compiled.arrays import Counts, Floats
from hushcount.ldp.server.decoding import Collected, ErrorOfCounts, Found
from hushcount.ldp.wire.encodings import Bytes, Encoding, Integers, Item
from hushcount.ldp.wire.manifest import Manifest
from hushcount.privacy import LOCAL_USER, Guarantee
from hushcount.releases.made import Made
from hushcount.releases.release import Release
from hushcount.releases.stored.documents import content_plain
from hushcount.releases.stored.exact import digest

if TYPE_CHECKING:
    import pyarrow as pa

PROOF = "docs/proofs/ldp.md"
NEAR_THRESHOLD = (
    "Counts just above the threshold are biased upward: of the items near it, those are published whose noise"
    " was upward."
)
ASSUMPTIONS = (
    "every client sends one report per campaign, and draws its response from a secure generator",
    "nonces do not depend on items",
)


@dataclass(frozen=True, slots=True)
class LocalError:
    """Normal estimates of counts, with a standard deviation that depends on the count alone."""

    error: ErrorOfCounts
    largest: float  # published count
    rows: int

    def columns(self, counts: Counts, confidence: float) -> Mapping[str, Counts]:
        """Return the columns of a table: counts with intervals of their own, clipped at 0."""
        half = _half(confidence) * self.error.deviation(np.asarray(counts, np.float64))
        lower = np.maximum(np.floor(counts - half), 0).astype(np.int64)
        upper = np.maximum(np.ceil(counts + half), 0).astype(np.int64)
        return {"count": np.asarray(counts, np.int64), "lower": lower, "upper": upper}

    def interval(self, confidence: float) -> tuple[int, int]:
        """Return how far below and above an estimate the count of one item, chosen beforehand, may lie."""
        error = math.ceil(_half(confidence) * self._widest())
        return error, error

    def simultaneous(self, confidence: float) -> tuple[int, int]:
        """Return the same for all published items at once."""
        return self.interval(1 - (1 - confidence) / max(self.rows, 1))

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the intervals hold and where the error comes from."""
        return (
            f"With confidence {confidence:g} the true count of an item chosen before seeing the result"
            " lies between lower and upper (normal approximation).",
            *self.error.sentences(),
            NEAR_THRESHOLD,
        )

    def _widest(self) -> float:
        """Return the largest standard deviation of counts from 0 to the largest published."""
        ends: Floats = np.array([0.0, self.largest])
        return float(self.error.deviation(ends).max())


def _half(confidence: float) -> float:
    """Return the normal quantile of a two-sided interval."""
    return -NormalDist().inv_cdf((1 - confidence) / 2)


def release_of(collected: Collected, found: Found) -> Release:
    """Return what a decoder found as a release."""
    encoding = collected.manifest.encoding
    counts = np.maximum(np.rint(found.estimates), 0).astype(np.int64)
    largest = float(counts.max()) if len(counts) else 0.0
    error = LocalError(found.error, largest, len(counts))
    floor = math.ceil(found.threshold)
    promise = guarantee_of(collected.manifest, collected.reports)
    recipe = recipe_of(collected.manifest, collected.reports)
    release = Release.of(keys_of(encoding, found.values), counts, promise, error, floor)
    noted = release.with_notes(*found.notes)
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


def guarantee_of(manifest: Manifest, reports: int) -> Guarantee:
    """Return the guarantee that every client was given."""
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
        },
        assumptions=ASSUMPTIONS,
    )
