"""Releases of several parties added up, by somebody whom nobody has to trust with raw data.

Each party releases its own data; what is done with releases costs no privacy. The error grows with the number
of parties: a key that a party did not publish may still have had a count below what that party publishes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from hushcount.compiled.arrays import Counts
from hushcount.errors import KeyTypeError, ParameterError
from hushcount.privacy import Guarantee
from hushcount.releases.accuracy import hidden, row_bounds
from hushcount.releases.key_list import KeyList
from hushcount.releases.made import Made
from hushcount.releases.oracle import Oracle
from hushcount.releases.release import Release
from hushcount.releases.stored.documents import content_plain
from hushcount.releases.stored.exact import digest
from hushcount.releases.stored.models import model_plain
from hushcount.releases.tree import TreeRelease

TREES = (
    "releases must be tables of keys to be added, got a tree: a node that one tree leaves out is in the"
    " residual of its parent there, so nodes cannot be added one by one. Release one tree of all data"
    " instead."
)
ORACLES = (
    "releases must be tables of keys to be added, got an oracle; oracles are added by `hushcount oracle"
    " merge`, or by their method merge."
)
KEYS = (
    "releases must be tables with counts to be added, got a list of keys, which has none; each key of it"
    " stands by itself, so that lists can be put together as they are."
)
OTHER_KINDS = ((TreeRelease, TREES), (Oracle, ORACLES), (KeyList, KEYS))


def add_releases(releases: Sequence[Release]) -> Release:
    """Add up releases of disjoint data: counts of equal keys are added.

    Together they are as private as the least private of them, for one unit that is in one party's data only.
    Other ways to put parts together: `merge` of a sketch adds up raw sketches into one, `release` publishes
    raw sketches of disjoint data together, as shards, and `merge` of an oracle adds up published oracles.

    Parameters
    ----------
    releases : sequence of Release
        Whole releases with the same key columns that protect the same unit. Trees cannot be added.

    Returns
    -------
    Release
        All keys that some party published. Intervals include what the other parties may have left out.

    Raises
    ------
    ParameterError
        If one release is given twice, is a tree, has been cut, or protects another unit.
    KeyTypeError
        If the key columns differ.
    """
    parties = tuple(releases)
    _check(parties)
    summed = _summed(parties, [np.zeros(len(one), np.int64) for one in parties])
    keys = summed.drop_columns(["count_sum", "lower_sum"])
    counts = summed["count_sum"].combine_chunks()
    return Release(keys, counts, _guarantee(parties), AddedError(parties), made=Made.now())


def _summed(parties: tuple[Release, ...], lower: Sequence[Counts]) -> pa.Table:
    """Return the keys of all parties with sums of their counts and lower ends, the largest count first."""
    tables = [
        one.keys.append_column("count", one.counts).append_column("lower", pa.array(ends, pa.int64()))
        for one, ends in zip(parties, lower, strict=True)
    ]
    some = [table for table in tables if len(table)] or tables[:1]
    names = some[0].column_names[:-2]
    summed = pa.concat_tables(some).group_by(names).aggregate([("count", "sum"), ("lower", "sum")])
    order = [("count_sum", "descending"), *((name, "ascending") for name in names)]
    return summed.sort_by(order).combine_chunks()


def _check(parties: tuple[Release, ...]) -> None:
    """Raise unless the parties can be added."""
    for party in parties:
        _check_kind(party)
    if not parties:
        raise ParameterError("releases must be at least one, got none.")
    names = [name for party in parties for name in _names(party)]
    if len(set(names)) < len(names) or len({id(party) for party in parties}) < len(parties):
        raise ParameterError("releases must be of disjoint data, got the same release twice.")
    if not all(party.whole for party in parties):
        raise ParameterError("releases must be whole to be added, got one cut by limit or min_count.")
    some = _with_rows(parties)
    if any(party.keys.schema != some[0].keys.schema for party in some):
        raise KeyTypeError("releases must have the same key columns to be added, got different ones.")
    for party in parties[1:]:
        if party.guarantee.unit != parties[0].guarantee.unit:
            raise ParameterError(
                f"releases must protect the same unit to be added, got {parties[0].guarantee.unit.name}"
                f" and {party.guarantee.unit.name}."
            )


def _check_kind(given: object) -> None:
    """Raise unless it is a table with counts."""
    for kind, sentence in OTHER_KINDS:
        if isinstance(given, kind):
            raise ParameterError(sentence)
    if not isinstance(given, Release):
        raise ParameterError(f"releases must be a list of releases, got {type(given).__name__} in it.")


def _names(release: Release) -> list[str]:
    """Return the name of a release, or those of all the releases in a sum.

    A release of an earlier version is named by what it published.
    """
    if isinstance(release.error, AddedError):
        return [name for party in release.error.parties for name in _names(party)]
    if release.made is not None and release.made.id is not None:
        return [release.made.id]
    return [digest(content_plain(release))] if len(release) else []


def _with_rows(parties: tuple[Release, ...]) -> tuple[Release, ...]:
    """Return those that published something, whose keys have a type; one of them if none did."""
    return tuple(party for party in parties if len(party)) or parties[:1]


def _guarantee(parties: tuple[Release, ...]) -> Guarantee:
    """Return what holds for a unit that is in the data of one party only."""
    first = parties[0].guarantee
    assumed = dict.fromkeys(text for party in parties for text in party.guarantee.assumptions)
    return Guarantee(
        max(party.guarantee.epsilon for party in parties),
        max(party.guarantee.delta for party in parties),
        first.unit,
        "sum of releases",
        "Releases of disjoint data, added: each unit is in one of them.",
        "docs/proofs/counters/shards.md",
        {"parties": len(parties)},
        (*assumed, f"each {first.unit.name} is in the data of one party only"),
    )


@dataclass(frozen=True, slots=True)
class AddedError:
    """The intervals of all parties, each at its share of the failure, added up.

    A count that a party did not publish is at most `hidden` there, up to its noise.
    """

    parties: tuple[Release, ...]

    def interval(self, confidence: float) -> tuple[int, int | None]:
        """Return the bounds of one key chosen before seeing the result."""
        share = 1 - (1 - confidence) / len(self.parties)
        bounds = [party.error.interval(share) for party in self.parties]
        below = sum(bound[0] for bound in bounds)
        if not _one_domain(self.parties):  # a party says nothing about keys outside its domain
            return below, None
        above = [bound[1] for bound in bounds] + [hidden(party) for party in self.parties]
        known = [bound for bound in above if bound is not None]
        return below, sum(known) if len(known) == len(above) else None

    def row_bounds(self, counts: Counts, confidence: float) -> tuple[Counts, Counts | None]:
        """Return the ends of published rows; the lower ones are those of the parties that published the key.

        Rows are those of the sum, or the first of them: cuts keep the largest counts.
        """
        share = 1 - (1 - confidence) / len(self.parties)
        ends = [row_bounds(one.error, one.counts.to_numpy(), share)[0] for one in self.parties]
        lower = _summed(self.parties, ends)["lower_sum"].to_numpy()[: len(counts)]
        above = self.interval(confidence)[1]
        return lower, None if above is None else counts + above

    def simultaneous(self, confidence: float) -> None:
        """Return None: a key may be published by some parties only, so nothing is stated for all."""
        return

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Return what the bounds are made of."""
        below, above = self.interval(confidence)
        upper = "" if above is None else f" and at most count + {above}"
        return (
            f"With confidence {confidence:g} the true count of a key chosen before seeing the result is at"
            f" least count - {below}{upper}.",
            f"count is the sum over {len(self.parties)} parties; each leaves out keys below its threshold.",
            "lower is the sum of the lower ends of the parties that published the key.",
        )


@runtime_checkable
class DomainError(Protocol):
    """An error model that says something about the keys of a public domain only."""

    @property
    def domain(self) -> object:
        """All keys that can be published."""
        ...


def _one_domain(parties: tuple[Release, ...]) -> bool:
    """Return whether all parties published keys of the same domain, or of none."""
    errors = [party.error for party in parties]
    domains = [model_plain(error.domain) if isinstance(error, DomainError) else None for error in errors]
    return all(domain == domains[0] for domain in domains)
