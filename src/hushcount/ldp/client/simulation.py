"""A campaign whose users are the rows of a table: their reports, and the answer beside the truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hushcount.ldp.arrays import Nonces, Symbols
from hushcount.ldp.client.batch import Items, respond_all
from hushcount.ldp.server.answers import key_of
from hushcount.ldp.wire.report import CAMPAIGN_BYTES, REPORT_VERSION

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.ldp.wire.encodings import Encoding
    from hushcount.ldp.wire.manifest import Manifest
    from hushcount.noise.bits import Bits
    from hushcount.releases.release import Release

USERS = 1 << 18  # randomised together
REPORT = np.dtype([("version", "u1"), ("campaign", "V8"), ("nonce", "<u8"), ("symbols", "u1")])


@dataclass(frozen=True, slots=True)
class Population:
    """Users with one item each: different items, and for every user the place of theirs; -1 for none."""

    items: list[Any]
    held: np.ndarray[Any, np.dtype[np.int64]]

    @classmethod
    def of(cls, keys: pa.Array | pa.ChunkedArray) -> Population:
        """The users of a column, one a row; a null is a user without an item."""
        import pyarrow as pa

        column = pa.chunked_array(keys if isinstance(keys, pa.ChunkedArray) else [keys])
        coded = column.combine_chunks().dictionary_encode()
        if isinstance(coded, pa.ChunkedArray):
            coded = coded.combine_chunks()
        held = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        return cls(coded.dictionary.to_pylist(), held)

    def __len__(self) -> int:
        return len(self.held)

    def reports(self, manifest: Manifest, bits: Bits) -> Iterator[bytes]:
        """The packed reports of all users, in blocks; nonces are drawn as a collector would.

        The order is random: that of the rows, or where those without an item stand, would say something.
        """
        items = Items.of([*self.items, None], manifest.encoding)  # the last, -1, is no item
        shuffled = self.held[np.argsort(bits.words(len(self)))]
        for start in range(0, len(self), USERS):
            held = shuffled[start : start + USERS]
            nonces = bits.words(len(held))
            symbols = respond_all(manifest, nonces, items.take(held), bits)
            yield packed(manifest, nonces, symbols)

    def true_counts(self, encoding: Encoding) -> dict[Any, int]:
        """How many users hold each item, as the encoding shows it; what does not fit is left out."""
        counts = np.bincount(self.held[self.held >= 0], minlength=len(self.items))
        found: Counter[Any] = Counter()
        for item, count in zip(self.items, counts.tolist(), strict=True):
            value = encoding.encode(item)
            if value is not None:
                found[key_of(encoding, value)] += count
        return dict(found)


def packed(manifest: Manifest, nonces: Nonces, symbols: Symbols) -> bytes:
    """Reports one after the other, as they are on the wire."""
    reports = np.empty(len(nonces), REPORT)
    reports["version"] = REPORT_VERSION
    reports["campaign"] = np.void(manifest.campaign[:CAMPAIGN_BYTES])
    reports["nonce"] = nonces
    reports["symbols"] = symbols
    return reports.tobytes()


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was published against the truth, which is raw data: for the operator of a simulation only."""

    precision: float
    recall: float
    heavy: int
    in_interval: float
    rows: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, release: Release, truth: Mapping[Any, int], threshold: float) -> Comparison:
        """Heavy are the items whose true count reaches the threshold."""
        rows = tuple({**row, "true": truth.get(row["key"], 0)} for row in release.table.to_pylist())
        heavy = sum(count >= threshold for count in truth.values())
        right = sum(row["true"] >= threshold for row in rows)
        inside = sum(row["lower"] <= row["true"] <= row["upper"] for row in rows)
        return cls(
            right / len(rows) if rows else 1.0,
            right / heavy if heavy else 1.0,
            heavy,
            inside / len(rows) if rows else 1.0,
            rows,
        )
