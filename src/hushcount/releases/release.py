"""The `Release` value: what may be published, and nothing else.

Every number in it is a function of noisy values and public parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from hushcount.privacy import LARGEST_COUNT, Guarantee, check_confidence, check_count
from hushcount.releases.writers import Published, plain_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.releases.estimators import Weight
    from hushcount.releases.sums import Predicate, SumEstimate

JSON_VERSION = 1


class ErrorModel(Protocol):
    """How far a published count may lie from the truth, from public numbers only."""

    def interval(self, confidence: float) -> tuple[int, int | None]:
        """(below, above): one key's true count lies in [count - below, count + above].

        `above` is None where no public number bounds the count from above.
        """
        ...

    def simultaneous(self, confidence: float) -> tuple[int, int | None] | None:
        """The same for all published keys at once; None where no public number bounds them."""
        ...

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """What is behind the bounds, in words."""
        ...


@runtime_checkable
class RowErrorModel(ErrorModel, Protocol):
    """An error model whose bounds differ from row to row."""

    def columns(self, counts: Any, confidence: float) -> Mapping[str, Any]:
        """The columns of the table (count, lower, upper, ...) for what was published."""
        ...


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Bounds on the error of a release at one confidence."""

    confidence: float
    below: int
    above: int | None
    simultaneous_below: int | None
    simultaneous_above: int | None
    sentences: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """The bounds as plain values for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, repr=False)
class Release(Published):
    """A differentially private table of keys and counts with its guarantee.

    `keys` has one column a key column; `counts` is aligned with it. Rows are sorted by count
    (descending), then by key, whatever the order of the stream was.
    """

    keys: pa.Table
    counts: pa.Array
    guarantee: Guarantee
    error: ErrorModel
    floor: int | None = None
    notes: tuple[str, ...] = ()
    confidence: float = 0.95
    whole: bool = True  # False once rows have been cut

    @classmethod
    def of(
        cls,
        keys: pa.Array,
        counts: Any,
        guarantee: Guarantee,
        error: ErrorModel,
        floor: int | None = None,
    ) -> Release:
        """Sort a mechanism's output by noisy count and key."""
        import pyarrow as pa

        table = pa.table({"key": keys, "count": pa.array(counts, pa.int64())})
        table = table.sort_by([("count", "descending"), ("key", "ascending")]).combine_chunks()
        if not len(table):  # a sketch has a type from its first key on, which nothing published shows
            table = table.set_column(0, "key", pa.nulls(0))
        return cls(table.select(["key"]), _one_chunk(table["count"]), guarantee, error, floor)

    def __len__(self) -> int:
        return len(self.counts)

    def __repr__(self) -> str:
        return in_short(f"Release of {len(self)} rows", self.guarantee)

    @property
    def table(self) -> pa.Table:
        """The rows: key columns, count, lower, upper (per key, at `confidence`, clipped at 0).

        `upper` is null where no public number bounds the count from above.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        if isinstance(self.error, RowErrorModel):
            return self._table_by_row(self.error)
        below, above = self.error.interval(self.confidence)
        zero = pa.scalar(0, pa.int64())
        lower = pc.max_element_wise(pc.subtract(self.counts, below), zero)
        if above is None:
            upper = pa.nulls(len(self.counts), pa.int64())
        else:
            upper = pc.max_element_wise(pc.add(self.counts, above), zero)
        table = self.keys.append_column("count", self.counts)
        return table.append_column("lower", lower).append_column("upper", upper)

    def _table_by_row(self, error: RowErrorModel) -> pa.Table:
        import pyarrow as pa

        table = self.keys
        for name, column in error.columns(self.counts.to_numpy(), self.confidence).items():
            table = table.append_column(name, pa.array(column))
        return table

    def sum(
        self, predicate: Predicate | None = None, g: Weight | None = None, estimator: str = "mle"
    ) -> SumEstimate:
        """Estimate a sum over all keys, published or not, with its bias, variance and relative error.

        Parameters
        ----------
        predicate : callable or array of bool, optional
            Which keys are added up: a function of the key columns, or one bool for each row. Default: all.
        g : callable, optional
            What is added up for a key, a function of an array of counts, such as `lambda w: w**2`.
            Default: the count itself.
        estimator : str, default "mle"
            "mle" has the smallest error; "biased-down" is never above the sum in expectation; "unbiased" has
            no bias and a huge variance, and is refused unless all counts are small.

        Returns
        -------
        SumEstimate
            `value`, `bias`, `variance` and `nrmse`; `nrmse_bounds` holds whatever was not published.

        Raises
        ------
        NotProvedError
            If the release was not made by "truncated-geometric", "public-floor" or "sample".
        ParameterError
            If rows have been cut, or the estimator cannot be computed.
        """
        from hushcount.releases.sums import estimate_sum

        return estimate_sum(self, predicate, g, estimator)

    def accuracy(self, confidence: float = 0.95) -> Accuracy:
        """The bounds at `confidence`: per key, and for all published keys at once."""
        checked = check_confidence(confidence)
        together = self.error.simultaneous(checked) or (None, None)
        return Accuracy(
            checked, *self.error.interval(checked), together[0], together[1], self.error.sentences(checked)
        )

    def with_keys(self, keys: pa.Table) -> Release:
        """The same rows with their keys decoded."""
        return replace(self, keys=keys)

    def limit(self, rows: int) -> Release:
        """The first rows (a function of what is published, so it costs nothing)."""
        stop = check_count("limit", rows, most=LARGEST_COUNT)
        return replace(self, keys=self.keys.slice(0, stop), counts=self.counts.slice(0, stop), whole=False)

    def at_least(self, count: int) -> Release:
        """The rows whose noisy count is at least `count` (costs nothing)."""
        import pyarrow.compute as pc

        least = check_count("min_count", count, least=0, most=LARGEST_COUNT)
        mask = pc.greater_equal(self.counts, least)
        return replace(self, keys=self.keys.filter(mask), counts=self.counts.filter(mask), whole=False)

    def to_dict(self) -> dict[str, object]:
        """The whole release as plain, versioned values."""
        return {
            "hushcount": JSON_VERSION,
            "kind": "release",
            "guarantee": self.guarantee.to_dict(),
            "accuracy": self.accuracy(self.confidence).to_dict(),
            "floor": self.floor,
            "notes": list(self.notes),
            "rows": plain_rows(self.table),
        }


def in_short(what: str, promise: Guarantee) -> str:
    """What was released and how well it is protected, in one line."""
    return (
        f"<{what}: ({promise.epsilon:g}, {promise.delta:g})-DP"
        f" for one {promise.unit.name}, by {promise.mechanism}>"
    )


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
