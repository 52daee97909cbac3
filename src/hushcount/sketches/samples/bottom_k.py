"""Bottom-k samples: the keys of smallest score, for the owner of the data only."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.compiled.arrays import Counts, Floats
from hushcount.errors import NotProvedError, ParameterError
from hushcount.files.container import Contents
from hushcount.keys.arrays import from_kernel
from hushcount.keys.memory import Data
from hushcount.privacy import check_count, check_number
from hushcount.secure import fresh_key
from hushcount.shapes import Public
from hushcount.shapes.samples import BottomKeys
from hushcount.sketches.base import SavedSketch, alone
from hushcount.sketches.coded.batch import PreparedKeys
from hushcount.sketches.held import Held, array_of, check_id, need
from hushcount.sketches.merged import check_alike, check_apart
from hushcount.sketches.samples.drawing import (
    InverseProbability,
    RandomWords,
    SystemWords,
    key_hashes,
    unit_floats,
)
from hushcount.sketches.several import check_room

LARGEST_POWER = 2.0


class BottomK(SavedSketch):
    """The `size` keys of smallest score, sampled by count^power; mergeable. Raw data, not private.

    Power 0 samples distinct keys: a score is a hash of seed and key. Power 1 samples by count (ppswor): every
    event draws an exponential score, and a key has the smallest of its events. Both take streams of any
    length in memory for `size` keys. Any other power needs the counts of all keys, and keeps them: the score
    of a key is an exponential variable, from a hash of seed and key, over count^power.

    No mechanism releases it, because its threshold depends on the data; draw a sample with `hc.sample`.

    Parameters
    ----------
    size : int
        How many keys are sampled.
    power : float
        The power of the count, 0 to 2.
    seed : int
        Samples of one seed can be merged; unless the power is 1 they pick alike in different data.
    bits : optional
        Random words, for tests. By default those of the operating system's secure generator.

    Examples
    --------
    >>> sketch = BottomK(2, power=0)
    >>> sketch.update(["tea", "milk", "tea"])
    >>> sorted(zip(sketch.keys, sketch.counts.tolist())), sketch.sum().value
    ([('milk', 1), ('tea', 2)], 3.0)
    """

    error_bound = 0

    def __init__(self, size: int, power: float = 1.0, seed: int = 0, bits: RandomWords | None = None) -> None:
        super().__init__()
        self.size, self.power = check_count("size", size), check_number("power", power)
        if not 0 <= self.power <= LARGEST_POWER:
            raise ParameterError(f"power must lie between 0 and 2, got {power}.")
        self.id, self.seed = fresh_key().hex(), seed
        self._bits = SystemWords() if bits is None else bits
        self._entries: dict[object, tuple[float, int]] = {}  # score, or the key's own number; and count
        self._total, self._key_type = 0, None

    @property
    def total(self) -> int:
        """The number of keys counted so far: raw data."""
        return self._total

    @property
    def key_type(self) -> pa.DataType | None:
        """The Arrow type of the keys; None before the first."""
        return self._key_type

    @alone
    def update(self, keys: Data) -> None:
        """Take a batch of events, or none of them if one cannot be counted.

        Parameters
        ----------
        keys : array, frame column or iterable
            Keys of one type. Nulls are ignored.
        """
        batch = PreparedKeys.of(keys, self._key_type)
        check_room(self._total, batch.rows)
        if batch.kind is None:
            return
        self._key_type = batch.kind
        for part in batch.batches:
            self._count(from_kernel(part, batch.kind))
        self._total += batch.rows

    @alone
    def merge(self, other: object) -> BottomK:
        """Return the sketch of both streams.

        Parameters
        ----------
        other : BottomK
            A sketch of other events, of the same size, power and seed.
        """
        if not isinstance(other, BottomK):
            raise NotProvedError(f"bottom-k samples merge with each other only, got {type(other).__name__}.")
        if (self.size, self.power, self.seed) != (other.size, other.power, other.seed):
            raise ParameterError("bottom-k sketches must have the same size, power and seed to be merged.")
        check_apart([self.id, other.id])
        check_alike([self.unit, other.unit], [self.key_type, other.key_type])
        merged = BottomK(self.size, self.power, self.seed, self._bits)
        merged.unit, merged._total = self.unit, self._total + other._total
        merged._key_type = self._key_type or other._key_type
        merged._entries = dict(self._entries)
        scores = np.array([score for score, _ in other._entries.values()])
        counts = np.array([count for _, count in other._entries.values()], np.int64)
        merged._absorb(list(other._entries), scores, counts)
        return merged

    @property
    def threshold(self) -> float:
        """The score below which a key is in the sample; infinite while all keys are."""
        scores = sorted(self._scored().values())
        return scores[self.size] if len(scores) > self.size else math.inf

    @property
    def keys(self) -> list[object]:
        """The sampled keys, by score."""
        scores = self._scored()
        return sorted(scores, key=lambda key: scores[key])[: self.size]

    @property
    def counts(self) -> Counts:
        """Counts of the sampled keys: exact, but for power 1 since the key entered, a lower bound."""
        return np.array([self._entries[key][1] for key in self.keys], dtype=np.int64)

    def probability(self, counts: npt.ArrayLike) -> Floats:
        """Return the probability that a key of each count has a score below the threshold.

        Parameters
        ----------
        counts : array of int
            The counts.
        """
        sizes, threshold = np.asarray(counts, dtype=np.float64), self.threshold
        if math.isinf(threshold):
            return np.ones(len(sizes))
        if self.power == 0:
            return np.full(len(sizes), threshold)
        return -np.expm1(-(sizes**self.power) * threshold)

    def sum(self, counts: npt.ArrayLike | None = None) -> InverseProbability:
        """Estimate the total of all counts.

        Parameters
        ----------
        counts : array of int, optional
            The true counts of the sampled keys, which power 1 needs, from a second pass.
        """
        if counts is None:
            if self.power == 1 and not math.isinf(self.threshold):
                raise ParameterError(
                    "counts must be given for power 1, which keeps lower bounds: the true ones of the keys."
                )
            counts = self.counts
        return InverseProbability.of(np.asarray(counts, dtype=np.float64), self.probability(counts))

    def public(self) -> Public:
        """Return the unit."""
        return self.shape().public()

    def shape(self) -> BottomKeys:
        """Return a summary that no mechanism accepts."""
        return BottomKeys(self.unit)

    @alone
    def contents(self) -> Contents:
        """Return the kind, header fields and arrays that `save` writes."""
        keys = pa.array(list(self._entries), self._key_type) if self._entries else None
        counts = np.array([count for _, count in self._entries.values()], np.int64)
        scores = np.array([score for score, _ in self._entries.values()], np.float64)
        held = Held(keys, counts, 0, self._total)
        fields = {"id": self.id, "size": self.size, "power": self.power, "seed": self.seed, **held.fields()}
        return Contents("bottom-k", fields, {**held.arrays(), "scores": scores.view(np.int64)})

    @classmethod
    def from_contents(cls, contents: Contents) -> BottomK:
        """Return the sketch that `contents` described, or raise if it describes none."""
        fields = contents.fields
        counts = array_of(contents.arrays, "counts", np.int64)
        scores = array_of(contents.arrays, "scores", np.int64).view(np.float64)
        held = Held.from_contents(contents, len(counts))
        need("seed", type(fields["seed"]) is int)
        need("scores", len(scores) == len(counts) and bool(np.isfinite(scores).all() and (scores >= 0).all()))
        sketch = cls(fields["size"], fields["power"], fields["seed"])
        need("size", not sketch._bounded or len(counts) <= sketch.size + 1)
        sketch.id, sketch._total, sketch._key_type = check_id(fields["id"]), held.total, held.key_type
        pairs = zip(scores.tolist(), held.counts.tolist(), strict=True)
        sketch._entries = dict(zip(held.key_array().to_pylist(), pairs, strict=True))
        return sketch

    @property
    def _bounded(self) -> bool:
        """Whether few keys have to be kept, because scores do not depend on whole counts."""
        return self.power in (0, 1)

    def _scored(self) -> dict[object, float]:
        """Return the score of every key that is kept."""
        if self._bounded:
            return {key: score for key, (score, _) in self._entries.items()}
        return {key: drawn / count**self.power for key, (drawn, count) in self._entries.items()}

    def _count(self, array: pa.Array) -> None:
        """Take events."""
        encoded = array.dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        distinct = encoded.dictionary
        scores = self._scores(distinct, codes)
        since = self._entered(distinct.to_pylist(), codes, scores)
        least = np.full(len(distinct), np.inf)
        np.minimum.at(least, codes, scores)
        self._absorb(distinct.to_pylist(), least, since)

    def _scores(self, distinct: pa.Array, codes: Counts) -> Floats:
        """Return what each event brings: its own score, or a number of its key."""
        if self.power == 1:
            return -np.log(unit_floats(self._bits.words(len(codes))) + 2.0**-65)
        uniforms = unit_floats(key_hashes(distinct, self.seed))[codes]
        return uniforms if self.power == 0 else -np.log(uniforms + 2.0**-65)

    def _entered(self, distinct: list[object], codes: Counts, scores: Floats) -> Counts:
        """Return how many events of each key came since it entered the sketch, or could have entered."""
        held = np.fromiter((key in self._entries for key in distinct), np.bool_, len(distinct))
        first = np.full(len(distinct), len(codes))
        limit = self.threshold if self._bounded else math.inf
        enters = np.flatnonzero(scores < limit)
        np.minimum.at(first, codes[enters], enters)
        first[held] = 0
        return np.bincount(codes[np.arange(len(codes)) >= first[codes]], minlength=len(distinct))

    def _absorb(self, keys: list[object], scores: Floats, counts: Counts) -> None:
        """Take keys with what they bring, and leave out those that can be in no sample any more."""
        threshold = self.threshold if self._bounded else math.inf
        for key, score, count in zip(keys, scores.tolist(), counts.tolist(), strict=True):
            before = self._entries.get(key)
            if before is not None:
                self._entries[key] = (min(before[0], score), before[1] + count)
            elif score < threshold:
                self._entries[key] = (score, count)
        if self._bounded and len(self._entries) > self.size + 1:
            kept = sorted(self._entries, key=lambda key: self._entries[key][0])[: self.size + 1]
            self._entries = {key: self._entries[key] for key in kept}
