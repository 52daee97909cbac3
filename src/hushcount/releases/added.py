"""Releases of several parties added up, for an aggregator that nobody has to trust.

Each party releases its own data; what is done with releases costs nothing. The error grows with the number of
parties: a key that a party did not publish may still have had a count below what that party publishes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushcount.errors import KeyTypeError, ParameterError
from hushcount.privacy import Guarantee
from hushcount.releases.release import Release

if TYPE_CHECKING:
    import pyarrow as pa


def add_releases(releases: Sequence[Release]) -> Release:
    """The sum of releases of disjoint data: counts of equal keys are added.

    Together they are as private as the least private of them, for one unit that is in one party's data only.
    """
    import pyarrow as pa

    parties = tuple(releases)
    _check(parties)
    some = _with_rows(parties)
    names = some[0].keys.column_names
    table = pa.concat_tables([one.keys.append_column("count", one.counts) for one in some])
    summed = table.group_by(names).aggregate([("count", "sum")])
    order = [("count_sum", "descending"), *((name, "ascending") for name in names)]
    summed = summed.sort_by(order).combine_chunks()
    counts = summed["count_sum"].cast(pa.int64()).combine_chunks()
    return Release(summed.select(names), _one(counts), _guarantee(parties), SumError(parties))


def _one(counts: pa.Array | pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    return counts if isinstance(counts, pa.Array) else pa.concat_arrays(counts.chunks)


def _check(parties: tuple[Release, ...]) -> None:
    if not parties:
        raise ParameterError("releases must be at least one, got none.")
    if len({id(party) for party in parties}) < len(parties):
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


def _with_rows(parties: tuple[Release, ...]) -> tuple[Release, ...]:
    """Those that published something, whose keys have a type; one of them if none did."""
    return tuple(party for party in parties if len(party)) or parties[:1]


def _guarantee(parties: tuple[Release, ...]) -> Guarantee:
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
class SumError:
    """Each party's interval at its share of the failure; a key it did not publish lies below `hidden`."""

    parties: tuple[Release, ...]

    def interval(self, confidence: float) -> tuple[int, int | None]:
        """One key named beforehand."""
        share = 1 - (1 - confidence) / len(self.parties)
        bounds = [party.error.interval(share) for party in self.parties]
        below = sum(bound[0] for bound in bounds)
        if not _one_domain(self.parties):  # a party says nothing about keys outside its domain
            return below, None
        above = [_plus(bound[1], hidden(party)) for bound, party in zip(bounds, self.parties, strict=True)]
        return below, _sum(above)

    def simultaneous(self, confidence: float) -> None:
        """Not stated: a key may be published by some parties only."""
        return

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """What the bounds are made of."""
        below, above = self.interval(confidence)
        upper = "" if above is None else f" and at most count + {above}"
        return (
            f"With confidence {confidence:g} the true count of a key named beforehand is at least"
            f" count - {below}{upper}.",
            f"count is the sum over {len(self.parties)} parties; each leaves out keys below its threshold.",
        )


def _one_domain(parties: tuple[Release, ...]) -> bool:
    """Whether all parties published keys of the same domain, or of none."""
    domains = [getattr(party.error, "domain", None) for party in parties]
    return all(domain == domains[0] for domain in domains)


def hidden(party: Release) -> int | None:
    """The largest count that a party would not have published, None where nothing public says."""
    stated: int | None = getattr(party.error, "hidden", None)
    if stated is not None:
        return stated
    parameters = party.guarantee.parameters
    if "offset" in parameters:
        return int(parameters["offset"])
    if "threshold" in parameters:
        return max((party.floor or 0) + int(parameters["threshold"]) - 1, 0)
    rows = parameters.get("candidates")  # the largest are published, whatever they are
    if rows is None:
        return None
    return int(party.counts[len(party) - 1].as_py()) if len(party) >= int(rows) else 0


def _plus(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _sum(bounds: list[int | None]) -> int | None:
    known = [bound for bound in bounds if bound is not None]
    return sum(known) if len(known) == len(bounds) else None
