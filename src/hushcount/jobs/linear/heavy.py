"""`heavy_hitters`: which of some candidates are frequent, by any private frequency oracle and its envelope.

An envelope (gamma1, gamma2, beta) says that gamma1 >= estimate - true count >= gamma2 for all candidates at
once, except with probability beta. Everything here is a function of estimates that are private already, and
of the candidates, so it costs nothing. Proof: docs/proofs/linear/cells.md, section 7.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from html import escape
from typing import Protocol, cast, runtime_checkable

import numpy as np
import pyarrow as pa

from hushcount.compiled.arrays import Floats
from hushcount.errors import ParameterError
from hushcount.files.atomic import PathLike
from hushcount.keys.memory import Data, key_arrays
from hushcount.noise.lattice import typed
from hushcount.privacy import LARGEST_COUNT, check_confidence, check_count, check_fraction, check_number
from hushcount.releases.oracle import Oracle
from hushcount.releases.oracle_intervals import least_answer

TOO_FEW = (
    "The oracle has too few cells to bound the errors of {:,} candidates at once with confidence {:g}; look"
    " up fewer, or build it with more rows or cells."
)
CHOSEN = (
    "This holds for candidates that were chosen without a look at the oracle, and privacy only for candidates"
    " that are public, or published before at a cost of their own."
)


@runtime_checkable
class EstimatesCounts(Protocol):
    """Whatever estimates the counts of keys, privately."""

    def estimate(self, keys: list[object], /) -> object:
        """Return one number for each key."""
        ...


@dataclass(frozen=True, slots=True, repr=False)
class HeavyHitters:
    """Candidates that may be heavy, and what is sure about all of them at once.

    Parameters
    ----------
    table : pyarrow.Table
        key, count, lower, upper and certain, the largest count first. `certain` keys reach the threshold.
    threshold : int
        Every candidate with at least this true count is listed, with probability `confidence`.
    least : float
        Every listed key has at least this true count, with the same probability.
    envelope : tuple of float
        (gamma1, gamma2, beta): all estimates are too high by at most gamma1 and too low by at most -gamma2,
        except with probability beta.
    candidates : int
        How many different candidates there were.
    """

    table: pa.Table
    threshold: int
    least: float
    envelope: tuple[float, float, float]
    candidates: int

    @property
    def confidence(self) -> float:
        """The probability with which all statements hold at once."""
        return 1 - self.envelope[2]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is sure, in words."""
        listed = (
            f"every listed key has a true count of at least {self.least:,.0f}"
            if self.least > 0
            else "a listed key need not occur at all: the threshold is within the error of an estimate"
        )
        return (
            f"With probability {self.confidence:g}, at once: every candidate with a true count of at least"
            f" {self.threshold:,} is listed, and {listed}. Rows marked certain reach {self.threshold:,}.",
            CHOSEN,
        )

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __repr__(self) -> str:
        return (
            f"<HeavyHitters: {len(self)} of {self.candidates} candidates for a threshold of {self.threshold}>"
        )

    def __str__(self) -> str:
        rows = ["\t".join(map(str, row.values())) for row in self.table.to_pylist()]
        return "\n".join(["\t".join(self.table.column_names), *rows, *self.sentences])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.table.column_names)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(str(value))}</td>" for value in row.values()) + "</tr>"
            for row in self.table.to_pylist()
        )
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences)
        return f"<table><tr>{head}</tr>{body}</table>{said}"


def heavy_hitters(
    oracle: Oracle | PathLike | EstimatesCounts,
    candidates: Data,
    *,
    threshold: int | None = None,
    share: float | None = None,
    max_events: int | None = None,
    envelope: tuple[float, float, float] | None = None,
    confidence: float = 0.95,
) -> HeavyHitters:
    """Return which candidates are frequent, by any private frequency oracle; it costs no privacy.

    Parameters
    ----------
    oracle : Oracle, path or object with a method `estimate`
        An oracle of hushcount, its file, or an object of your own: `estimate(keys)` returns one number for
        each key of a list. Its privacy is yours to prove.
    candidates : array, frame column or iterable
        Keys to ask for: public ones, or keys that were published before. Keys taken from the raw data would
        reveal them.
    threshold : int, optional
        List every candidate with at least this true count. Give either `threshold` or `share`.
    share : float, optional
        List every candidate with more than this share of `max_events`.
    max_events : int, optional
        With `share`: a public bound on the number of events, not taken from the data.
    envelope : (gamma1, gamma2, beta), optional
        For an object of your own: gamma1 >= estimate - true count >= gamma2 for all candidates at once, but
        for probability beta. An oracle of hushcount knows its own.
    confidence : float
        For an oracle of hushcount: the probability with which all statements hold at once.

    Returns
    -------
    HeavyHitters
        The candidates that may be heavy, with bounds, and what is sure of those listed and not listed.

    Raises
    ------
    ParameterError
        If an option breaks its rule, or the oracle has too few cells for so many candidates.

    Examples
    --------
    >>> class Mine:
    ...     def estimate(self, keys):
    ...         return [{"tea": 520, "milk": 300}.get(key, 4) for key in keys]
    >>> found = heavy_hitters(Mine(), ["tea", "milk", "salt"], threshold=350, envelope=(20, -60, 0.01))
    >>> found.table["key"].to_pylist(), found.table["certain"].to_pylist(), found.least
    (['tea', 'milk'], [True, False], 270)
    """
    wanted = _threshold(threshold, share, max_events)
    if isinstance(oracle, str | bytes | os.PathLike):
        oracle = Oracle.load(oracle)
    if isinstance(oracle, Oracle):
        if envelope is not None:
            raise ParameterError(
                "envelope is for an object of your own; an oracle of hushcount knows its own."
            )
        return _of_oracle(oracle, candidates, wanted, check_confidence(confidence))
    if not isinstance(oracle, EstimatesCounts):
        raise ParameterError(
            f"oracle must be an oracle, its file, or an object with a method estimate, got"
            f" {type(oracle).__name__}."
        )
    keys = _distinct(candidates)
    return _found(keys, _numbers(oracle, keys), wanted, _envelope(envelope))


def _threshold(threshold: int | None, share: float | None, max_events: int | None) -> int:
    """Return the true count that is asked for, or raise."""
    if (threshold is None) == (share is None):
        raise ParameterError(
            "Give either threshold, a count, or share, a fraction of max_events, but not both."
        )
    if threshold is not None:
        return check_count("threshold", threshold, most=LARGEST_COUNT)
    number = check_fraction("share", cast("float", share))
    if max_events is None:
        raise ParameterError("share needs max_events, the public bound it is a share of, got None.")
    return math.floor(typed(number) * check_count("max_events", max_events, most=LARGEST_COUNT)) + 1


def _of_oracle(oracle: Oracle, candidates: Data, wanted: int, confidence: float) -> HeavyHitters:
    """Return the heavy ones by noisy cells, whose error is bounded for each candidate by an equal share."""
    keys = _distinct(candidates)
    beta = 1 - confidence
    each = beta / max(len(keys), 1)
    high, low = oracle.interval(1 - each)
    if low is None and not oracle.hashing.signed and not oracle.partial:
        low = least_answer(oracle.hashing, oracle.guarantees, each / 2)
    if high is None or low is None:
        raise ParameterError(TOO_FEW.format(len(keys), confidence))
    asked = oracle.estimate(keys)
    return _found(asked["key"].combine_chunks(), asked["count"].to_numpy(), wanted, (high, -low, beta))


def _found(keys: pa.Array, counts: Floats, wanted: int, envelope: tuple[float, float, float]) -> HeavyHitters:
    """Return the candidates whose estimate reaches what a key at the threshold has at least."""
    high, low, _ = envelope
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] >= wanted + low]
    shown = counts[order]
    columns = {
        "key": keys.take(pa.array(order)),
        "count": shown,
        "lower": np.maximum(shown - high, 0),
        "upper": np.maximum(shown - low, 0),
        "certain": shown - high >= wanted,
    }
    return HeavyHitters(pa.table(columns), wanted, wanted + low - high, envelope, len(keys))


def _distinct(candidates: Data) -> pa.Array:
    """Return the candidates, each once, in their order."""
    arrays = [array for array in key_arrays(candidates) if len(array)]
    if not arrays:
        raise ParameterError("candidates must hold at least one key, got none.")
    return pa.concat_arrays(arrays).unique().drop_null()


def _numbers(oracle: EstimatesCounts, keys: pa.Array) -> Floats:
    """Return the estimates of an object of somebody else, or raise."""
    found = np.asarray(oracle.estimate(keys.to_pylist()))
    if found.shape != (len(keys),) or found.dtype.kind not in "iuf" or not np.isfinite(found).all():
        raise ParameterError("oracle must return one finite number for each key from estimate.")
    return found if found.dtype.kind == "f" else found.astype(np.int64)


def _envelope(envelope: tuple[float, float, float] | None) -> tuple[float, float, float]:
    """Return (gamma1, gamma2, beta), or raise."""
    if not isinstance(envelope, tuple | list) or len(envelope) != 3:
        raise ParameterError("envelope must be (gamma1, gamma2, beta) for an object of your own.")
    for name, value in zip(("gamma1", "gamma2", "beta"), envelope, strict=True):
        check_number(name, value)
    high, low, beta = envelope
    if not (math.isfinite(high) and math.isfinite(low) and high >= low):
        raise ParameterError(f"gamma1 must be finite and at least gamma2, got {high} and {low}.")
    return high, low, check_fraction("beta", beta)
