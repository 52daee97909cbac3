"""The `Release` value: what may be published, and nothing else.

Every number in it is a function of noisy values and public parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hushcount.privacy import LARGEST_COUNT, Guarantee, check_confidence, check_count
from hushcount.releases.accuracy import (
    EVENTS,
    RELIABLE,
    Accuracy,
    Counted,
    ErrorModel,
    FindingError,
    FullFromError,
    RowErrorModel,
    SquaredError,
    TogetherError,
    bounds_together,
    row_bounds,
    smallest_reliable,
)
from hushcount.releases.made import Made
from hushcount.releases.published import Published, first_of_each

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from hushcount.releases.estimators import Weight
    from hushcount.releases.ordinal import Order
    from hushcount.releases.other import NoisyTotal, OtherKeys
    from hushcount.releases.sums import Predicate, SumEstimate


@dataclass(frozen=True, slots=True, repr=False)
class Release(Published):
    """A differentially private table of keys and counts with its guarantee.

    Parameters
    ----------
    keys : pyarrow.Table
        One column for each key column. Rows are sorted by count (descending), then by key, whatever the
        order of the stream was.
    counts : pyarrow.Array
        The noisy counts, aligned with `keys`.
    guarantee : Guarantee
        What is protected, how well, and under which assumptions.
    error : ErrorModel
        How far counts may lie from the truth.
    floor : int, optional
        The noisy floor: what the sketch may have overcounted a key by, or left out.
    notes : tuple of str
        Further sentences about public facts.
    confidence : float
        The confidence of the intervals in `table`.
    whole : bool
        Whether all published rows are there; False once some have been cut.
    counted : Counted
        What a count is a number of.
    made : Made, optional
        How, when and by which version it was made.
    total : NoisyTotal, optional
        The noisy number of all that was counted, if it was asked for.
    """

    keys: pa.Table
    counts: pa.Array
    guarantee: Guarantee
    error: ErrorModel
    floor: int | None = None
    notes: tuple[str, ...] = ()
    confidence: float = 0.95
    whole: bool = True
    counted: Counted = EVENTS
    made: Made | None = field(default=None, compare=False)
    total: NoisyTotal | None = None

    @classmethod
    def of(
        cls,
        keys: pa.Array,
        counts: npt.ArrayLike,
        guarantee: Guarantee,
        error: ErrorModel,
        floor: int | None = None,
    ) -> Release:
        """Return a mechanism's output sorted by noisy count and key.

        Parameters
        ----------
        keys, counts
            The published keys and their noisy counts, in any order.
        guarantee, error, floor
            As for the release itself.
        """
        import pyarrow as pa

        table = pa.table({"key": keys, "count": pa.array(counts, pa.int64())})
        table = table.sort_by([("count", "descending"), ("key", "ascending")]).combine_chunks()
        if not len(table):  # a sketch has a type from its first key on, which nothing published shows
            table = table.set_column(0, "key", pa.nulls(0))
        return cls(table.select(["key"]), table["count"].combine_chunks(), guarantee, error, floor)

    @property
    def table(self) -> pa.Table:
        """The rows: key columns, count, lower, upper (of each published key, at `confidence`).

        `lower` takes into account that the row was published, and is never below 0. `upper` is null if no
        public number bounds the count from above.
        """
        import pyarrow as pa

        if isinstance(self.error, RowErrorModel):
            return self._table_by_row(self.error)
        lower, upper = row_bounds(self.error, self.counts.to_numpy(), self.confidence)
        ends = pa.nulls(len(self.counts), pa.int64()) if upper is None else pa.array(upper, pa.int64())
        table = self.keys.append_column("count", self.counts)
        return table.append_column("lower", pa.array(lower, pa.int64())).append_column("upper", ends)

    def _table_by_row(self, error: RowErrorModel) -> pa.Table:
        """Return the table of an error model that has its own columns."""
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

    @property
    def order(self) -> Order:
        """Ranks, quantiles, concordance and Kendall's tau, for a release as `sum` takes it."""
        from hushcount.releases.ordinal import Order

        return Order(self)

    @property
    def other(self) -> OtherKeys | None:
        """All keys together that the table does not show; None unless the total was asked for."""
        from hushcount.releases.other import other_keys

        return other_keys(self)

    def accuracy(self, confidence: float = 0.95) -> Accuracy:
        """Return bounds on the error: for one key, and for all published keys at once.

        Parameters
        ----------
        confidence : float, default 0.95
            The probability with which the bounds hold for a key chosen before seeing the result.
        """
        from hushcount.releases.other import unpublished_at_most
        from hushcount.releases.stored.earlier import StatedError

        checked = check_confidence(confidence)
        told = isinstance(self.error, FindingError) or not isinstance(self.error, RowErrorModel)
        missing = unpublished_at_most(self, checked)
        reliable = self.smallest_reliable(checked) if told and checked > 0.5 else None
        if isinstance(self.error, StatedError):
            reliable = self.error.published_from
            missing = self.error.unpublished_at_most if self.whole else None
        apart = not isinstance(self.error, TogetherError)
        known = self.error.simultaneous(checked) if apart else bounds_together(self, checked)
        together, squared = known or (None, None), None
        interval, sentences = self.error.interval(checked), self.error.sentences(checked)
        full = self.error.full_from(checked) if isinstance(self.error, FullFromError) else None
        if self.whole and isinstance(self.error, SquaredError):
            squared = self.error.mean_squared_error(checked)
        meaning = (self.counted.meaning,) if self.counted.meaning else ()
        said = (*meaning, *sentences, *self._reliably(checked, missing, reliable))
        return Accuracy(checked, *interval, together[0], together[1], said, full, reliable, missing, squared)

    def _reliably(self, confidence: float, missing: int | None, count: int | None) -> tuple[str, ...]:
        """Return the sentences on which counts are published reliably, and on what is missing, if known."""
        if isinstance(self.error, RowErrorModel):  # of samples and local reports: their sentences say it
            return ()
        probability, noun = max(confidence, RELIABLE), self.counted.noun
        said = []
        if probability != confidence:
            count = self.smallest_reliable(probability)
        if missing is not None:
            most = f"{missing:,} {noun}"
            said.append(f"With confidence {confidence:g} no key that is missing has more than {most}.")
        if count is not None:
            least, cut = f"{count:,} {noun}", "" if self.whole else ", before rows were cut"
            said.append(
                f"A key of at least {least} is published with probability {probability:g} or more{cut}."
            )
        return tuple(said)

    def smallest_reliable(self, probability: float = RELIABLE) -> int | None:
        """Return a count that, like all larger ones, is published with at least this probability.

        Parameters
        ----------
        probability : float, default 0.95
            Strictly between 0.5 and 1.

        Returns
        -------
        int or None
            None if no public number tells.
        """
        return smallest_reliable(self, probability)

    def with_keys(self, keys: pa.Table) -> Release:
        """Return the same rows with other keys.

        Parameters
        ----------
        keys : pyarrow.Table
            One row for each count, in the same order: usually the keys as the source had them.
        """
        return replace(self, keys=keys)

    def counting(self, counted: Counted) -> Release:
        """Return the same release, whose accuracy and JSON say what a count is a number of."""
        return replace(self, counted=counted)

    def limit(self, rows: int, per: str | None = None) -> Release:
        """Return the first rows, of all or of each group; this costs no privacy, because all are published.

        Parameters
        ----------
        rows : int
            The number of rows to keep, at least 1.
        per : str, optional
            A key column, one of several: rows of one value in it are a group, and keep their order.
        """
        stop = check_count("limit", rows, most=LARGEST_COUNT)
        if per is not None:
            kept = first_of_each(self.keys, per, stop)
            cut = replace(self, keys=self.keys.take(kept), counts=self.counts.take(kept), whole=False)
            return cut.made_with({"per": per}, None)
        return replace(self, keys=self.keys.slice(0, stop), counts=self.counts.slice(0, stop), whole=False)

    def at_least(self, count: int) -> Release:
        """Return the rows with a noisy count of at least `count`; costs no privacy.

        Parameters
        ----------
        count : int
            The smallest count to keep, at least 0.
        """
        import pyarrow.compute as pc

        smallest = check_count("min_count", count, least=0, most=LARGEST_COUNT)
        mask = pc.greater_equal(self.counts, smallest)
        return replace(self, keys=self.keys.filter(mask), counts=self.counts.filter(mask), whole=False)

    def cut(self, smallest: int | None, rows: int | None, per: str | None = None) -> Release:
        """Return the rows that were asked for: a function of what is private already.

        Parameters
        ----------
        smallest : int, optional
            The smallest noisy count to keep.
        rows : int, optional
            The number of rows to keep, of each group if `per` is given.
        per : str, optional
            The key column whose values are the groups.
        """
        shown = self if smallest is None else self.at_least(smallest)
        return shown if rows is None else shown.limit(rows, per)
