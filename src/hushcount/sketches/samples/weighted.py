"""Threshold samples of keys with their exact counts: raw data that one mechanism can sanitise.

A coordinated sample decides by a seeded hash of the key, so that samples of different data with one seed
pick alike. Such a sample must never be sanitised: with a known seed, being sampled reveals the count
(docs/proofs/sampling/sample.md, section 6), and its `shape` is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.compiled.arrays import Counts, Floats
from hushcount.errors import DataError, NotProvedError, ParameterError
from hushcount.files.container import Contents
from hushcount.keys.arrays import from_kernel
from hushcount.keys.memory import Data
from hushcount.privacy import EVENT, LARGEST_COUNT, RESULT_ROW, STREAM_ROW, USER, PrivacyUnit
from hushcount.registry import Registry
from hushcount.secure import fresh_key
from hushcount.shapes import Histogram, Public
from hushcount.shapes.samples import SampledCounts, SamplingScheme
from hushcount.sketches.base import SavedSketch, alone
from hushcount.sketches.coded.batch import PreparedKeys
from hushcount.sketches.exact import Exact
from hushcount.sketches.held import Held, array_of, check_id, need
from hushcount.sketches.samples.drawing import (
    InverseProbability,
    RandomWords,
    SystemWords,
    key_hashes,
    unit_floats,
)

# Schemes by the name in the header of a file; each takes what its `fields` returned.
SCHEMES: Registry[Callable[..., SamplingScheme]] = Registry(
    "sampling scheme",
    {
        "pps": "hushcount.mechanisms.sampling.schemes:Pps",
        "ppswor": "hushcount.mechanisms.sampling.schemes:Ppswor",
        "table": "hushcount.mechanisms.sampling.tabled:table_from_fields",
    },
)
UNITS = {unit.name: unit for unit in (EVENT, USER, RESULT_ROW, STREAM_ROW)}
COORDINATED = (
    "A coordinated sample has a known seed, which reveals counts; draw a fresh sample of the exact counts, or"
    ' release them with mechanism="truncated-geometric" and sample that.'
)
USED = (
    "This sample was sanitised before, and a second time is not proved: both would rest on the same draw;"
    " draw another sample, or keep the first release."
)
REAL_WEIGHTS = (
    "counts must be whole numbers of events, at least 1: real weights are not counts, and what one event"
    " changes of them is not bounded by 1."
)


class WeightedSample(SavedSketch):
    """Keys with exact counts, each sampled with the probability of its count; raw data, not private.

    `hc.release` sanitises it, without the original data, if it was drawn as the scheme says, in secret and
    for this sample only. It is sanitised once.

    Parameters
    ----------
    keys : array, frame column or iterable
        The sampled keys, each once.
    counts : array of int
        Their exact counts in the data, in the same order.
    scheme : Pps, Ppswor or SamplingTable
        With which probability a key of each count was sampled; fixed before the data were seen.
    seed : int, optional
        The seed of a coordinated sample, which cannot be sanitised; None if the draw is secret.
    unit : PrivacyUnit
        What one event stands for.

    Examples
    --------
    >>> import hushcount as hc
    >>> sample = hc.WeightedSample(["tea", "milk"], [5000, 3000], hc.Pps(0.01))
    >>> sample.sum().value
    8000.0
    """

    error_bound = 0
    words = SampledCounts.words

    def __init__(
        self,
        keys: Data,
        counts: npt.ArrayLike,
        scheme: SamplingScheme,
        seed: int | None = None,
        unit: PrivacyUnit = EVENT,
    ) -> None:
        super().__init__()
        self.id, self.scheme, self.seed, self.unit = fresh_key().hex(), _checked_scheme(scheme), seed, unit
        self.keys, self.counts = _distinct(keys), _whole(counts)
        if len(self.keys) != len(self.counts):
            raise ParameterError("keys and counts must have the same length.")
        if len(self) and not (self.probabilities > 0).all():
            raise DataError("The sample holds a count that its scheme never samples.")
        self._used = False

    @classmethod
    def of(cls, sketch: Exact, scheme: SamplingScheme, bits: RandomWords | None = None) -> WeightedSample:
        """Draw a sample of exact counts by fresh randomness: not private by itself.

        Parameters
        ----------
        sketch : Exact
            The counts of all keys.
        scheme : Pps, Ppswor or SamplingTable
            With which probability a key of each count is sampled.
        bits : optional
            Random words, for tests. By default those of the operating system's secure generator.
        """
        if not isinstance(sketch, Exact):
            raise ParameterError(f"A sample is drawn from exact counts, got {type(sketch).__name__}.")
        return fresh_sample(sketch.shape(), scheme, SystemWords() if bits is None else bits)

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def total(self) -> int:
        """The number of events of the sampled keys: raw data."""
        return int(self.counts.sum())

    @property
    def key_type(self) -> pa.DataType | None:
        """The Arrow type of the keys; None if there is none."""
        return self.keys.type if len(self) else None

    @property
    def probabilities(self) -> Floats:
        """The probability with which each key was sampled."""
        return self.scheme.probability(self.counts)

    def sum(
        self,
        predicate: Callable[[object], bool] | None = None,
        g: Callable[[Floats], Floats] | None = None,
    ) -> InverseProbability:
        """Estimate the sum of g(count) over all keys, sampled or not, that a predicate selects.

        Parameters
        ----------
        predicate : callable, optional
            Takes a key and says whether it is added up. Default: all.
        g : callable, optional
            What is added up for a key, a function of an array of counts. Default: the counts.
        """
        chosen = np.ones(len(self), dtype=np.bool_)
        if predicate is not None:
            chosen = np.fromiter(map(predicate, self.keys.to_pylist()), np.bool_, len(self))
        sizes = self.counts[chosen].astype(np.float64)
        weights = sizes if g is None else g(sizes)
        return InverseProbability.of(weights, self.probabilities[chosen])

    def merge(self, other: object) -> WeightedSample:
        """Return the sample of two parts that share no key (a key in both would need its total count).

        Parameters
        ----------
        other : WeightedSample
            A sample of other keys by the same scheme.
        """
        if not isinstance(other, WeightedSample):
            raise NotProvedError(f"samples merge with samples only, got {type(other).__name__}.")
        if (self.scheme, self.seed, self.unit) != (other.scheme, other.seed, other.unit):
            raise ParameterError("samples must have the same scheme, seed and unit to be merged.")
        if pc.any(pc.is_in(self.keys, other.keys)).as_py():
            raise DataError("samples must share no key to be merged; use BottomK, which merges events.")
        if self._used or other._used:
            raise NotProvedError(USED)
        keys = pa.concat_arrays([self.keys, other.keys])
        counts = np.concatenate([self.counts, other.counts])
        return WeightedSample(keys, counts, self.scheme, self.seed, self.unit)

    def update(self, keys: Data) -> NoReturn:
        """Refuse: a sample holds the counts of all its keys."""
        raise ParameterError("A sample takes no more keys; count all data, and sample the counts.")

    def public(self) -> Public:
        """Return the numbers that no data changes: the scheme and the unit."""
        return SampledCounts(self._take, self.scheme, self.unit).public()

    @alone
    def shape(self) -> SampledCounts:
        """Return the sample for the mechanism that sanitises it, or raise."""
        if self.seed is not None:
            raise NotProvedError(COORDINATED)
        if self._used:
            raise NotProvedError(USED)
        return SampledCounts(self._take, self.scheme, self.unit)

    @alone
    def _take(self) -> tuple[pa.Array, Counts]:
        """Return keys and counts, once."""
        if self._used:
            raise NotProvedError(USED)
        self._used = True
        return self.keys, self.counts

    def _held(self) -> Held:
        """Return keys and counts as they are written."""
        return Held(self.keys if len(self) else None, self.counts, 0, self.total)

    @alone
    def contents(self) -> Contents:
        """Return the kind, header fields and arrays that `save` writes."""
        held = self._held()
        fields = {
            "id": self.id,
            **held.fields(),
            "scheme": self.scheme.fields(),
            "seed": self.seed,
            "used": self._used,
            "unit": self.unit.name,
            "rows": self.unit.rows,
            "weight": self.unit.weight,
        }
        return Contents("weighted-sample", fields, held.arrays())

    @classmethod
    def from_contents(cls, contents: Contents) -> WeightedSample:
        """Return the sample that `contents` described, or raise if it describes none."""
        fields = contents.fields
        held = Held.from_contents(contents, len(array_of(contents.arrays, "counts", np.int64)))
        need("seed", fields["seed"] is None or type(fields["seed"]) is int)
        need("used", type(fields["used"]) is bool)
        sizes = {name: fields[name] for name in ("rows", "weight")}
        need("unit", all(type(size) is int and size >= 1 for size in sizes.values()))
        unit = replace(UNITS[fields["unit"]], **sizes)
        sample = cls(held.key_array(), held.counts, scheme_from(fields["scheme"]), fields["seed"], unit)
        sample.id, sample._used = check_id(fields["id"]), fields["used"]
        return sample


def scheme_from(fields: dict[str, object]) -> SamplingScheme:
    """Return the scheme that a header describes, or raise."""
    made_of = dict(fields)
    return SCHEMES[str(made_of.pop("name"))](**made_of)


def _checked_scheme(scheme: SamplingScheme) -> SamplingScheme:
    """Return a scheme, or raise."""
    if not isinstance(scheme, SamplingScheme):
        raise ParameterError(
            "scheme must be a sampling scheme: hc.Pps, hc.Ppswor or hc.SamplingTable,"
            f" got {type(scheme).__name__}."
        )
    return scheme


def _distinct(keys: Data) -> pa.Array:
    """Return keys in one array, or raise if one stands twice."""
    prepared = PreparedKeys.of(keys, None)
    if prepared.kind is None:
        return pa.array([], pa.string())
    array = pa.concat_arrays([from_kernel(batch, prepared.kind) for batch in prepared.batches])
    if pc.count_distinct(array).as_py() != len(array):
        raise DataError("A key stands twice in the sample; a sample has each key once, with its whole count.")
    return array


def _whole(counts: npt.ArrayLike) -> Counts:
    """Return counts as integers of at least 1, or raise."""
    array = np.asarray(counts)
    if len(array) == 0:
        return np.zeros(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.min() < 1 or array.max() > LARGEST_COUNT:
        raise ParameterError(REAL_WEIGHTS)
    return array.astype(np.int64)


def coordinated_sample(shape: Histogram, scheme: SamplingScheme, seed: int) -> WeightedSample:
    """Sample aggregated counts by a hash of seed and key: not private, and not to be made so."""
    return _sample(shape, scheme, unit_floats(key_hashes(shape.keys, seed)), seed)


def fresh_sample(shape: Histogram, scheme: SamplingScheme, bits: RandomWords) -> WeightedSample:
    """Sample aggregated counts by fresh randomness: not private by itself."""
    return _sample(shape, scheme, unit_floats(bits.words(len(shape.counts))), None)


def _sample(shape: Histogram, scheme: SamplingScheme, uniforms: Floats, seed: int | None) -> WeightedSample:
    chosen = uniforms < _checked_scheme(scheme).probability(shape.counts)
    return WeightedSample(shape.keys.filter(pa.array(chosen)), shape.counts[chosen], scheme, seed, shape.unit)
