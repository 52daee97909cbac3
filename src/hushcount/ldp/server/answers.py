"""A decoder's findings as a `Release`: items, counts, intervals, and the guarantee of the local model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from hushcount.ldp.arrays import Floats
from hushcount.ldp.server.decoding import Collected, ErrorOfCounts, Found
from hushcount.ldp.wire.encodings import Bytes, Encoding, Integers, Item
from hushcount.privacy import LOCAL_USER, Guarantee
from hushcount.releases.release import Release

if TYPE_CHECKING:
    import pyarrow as pa

PROOF = "docs/proofs/ldp.md"
NEAR_THRESHOLD = (
    "Counts just above the threshold are biased upward: of items near it, those are published whose noise was"
    " upward."
)
ASSUMPTIONS = (
    "every client sends one report a campaign, and draws its response from a secure generator",
    "nonces do not depend on items",
)


@dataclass(frozen=True, slots=True)
class LocalError:
    """The estimate is normal around the true count, with a deviation that depends on the count alone."""

    law: ErrorOfCounts
    largest: float  # of the published counts
    rows: int

    def columns(self, counts: Any, confidence: float) -> Mapping[str, Any]:
        """Counts with their own intervals, clipped at 0."""
        half = _half(confidence) * self.law.deviation(np.asarray(counts, np.float64))
        lower = np.maximum(np.floor(counts - half), 0).astype(np.int64)
        upper = np.maximum(np.ceil(counts + half), 0).astype(np.int64)
        return {"count": np.asarray(counts, np.int64), "lower": lower, "upper": upper}

    def interval(self, confidence: float) -> tuple[int, int]:
        """One item named beforehand, whatever its count up to the largest published."""
        error = math.ceil(_half(confidence) * self._widest())
        return error, error

    def simultaneous(self, confidence: float) -> tuple[int, int]:
        """All published items at once."""
        return self.interval(1 - (1 - confidence) / max(self.rows, 1))

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """What the bounds are made of."""
        return (
            f"With confidence {confidence:g} the true count of an item named beforehand lies between lower"
            " and upper, by the normal law.",
            *self.law.sentences(),
            NEAR_THRESHOLD,
        )

    def _widest(self) -> float:
        ends: Floats = np.array([0.0, self.largest])
        return float(self.law.deviation(ends).max())


def _half(confidence: float) -> float:
    """The normal quantile of a two-sided interval."""
    return -NormalDist().inv_cdf((1 - confidence) / 2)


def release_of(collected: Collected, found: Found) -> Release:
    """The findings as what may be published."""
    encoding = collected.manifest.encoding
    counts = np.maximum(np.rint(found.estimates), 0).astype(np.int64)
    largest = float(counts.max()) if len(counts) else 0.0
    error = LocalError(found.error, largest, len(counts))
    floor = math.ceil(found.threshold)
    release = Release.of(keys_of(encoding, found.values), counts, guarantee_of(collected), error, floor)
    return release.with_notes(*found.notes)


def keys_of(encoding: Encoding, values: Sequence[int]) -> pa.Array:
    """Encoded items as a column of keys."""
    import pyarrow as pa

    return pa.array([key_of(encoding, value) for value in values], _key_type(encoding))


def key_of(encoding: Encoding, value: int) -> Item | None:
    """An encoded item as a key; integers that no column of numbers holds are text."""
    item = encoding.decode(value)
    return str(item) if isinstance(item, int) and encoding.width > 64 else item


def _key_type(encoding: Encoding) -> pa.DataType:
    import pyarrow as pa

    if isinstance(encoding, Integers) and encoding.width <= 64:
        return pa.int64() if encoding.width < 64 else pa.uint64()
    return pa.binary() if isinstance(encoding, Bytes) else pa.string()


def guarantee_of(collected: Collected) -> Guarantee:
    """What every client was promised."""
    manifest = collected.manifest
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
            "reports": collected.reports,
            "symbol_bits": ",".join(str(group.symbol_bits) for group in manifest.groups),
        },
        assumptions=ASSUMPTIONS,
    )
