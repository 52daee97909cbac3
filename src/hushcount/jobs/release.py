"""`release`: from a sketch, or several, to a private table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hushcount.errors import DataError, ParameterError
from hushcount.privacy import budget_for, check_max_events, check_strength
from hushcount.shapes import LevelCounters, TrackedCells

if TYPE_CHECKING:
    from hushcount.keys.memory import Data
    from hushcount.noise.bits import Bits
    from hushcount.releases.release import Release
    from hushcount.releases.tree import TreeRelease
    from hushcount.shapes import Shape, Sketch

MANY = (list, tuple)
LEVELS = "hierarchy-streaming"


def release(
    sketch: Sketch | Sequence[Sketch],
    *,
    epsilon: float,
    delta: float,
    mechanism: str | None = None,
    max_events: int | None = None,
    domain: Data = None,
    threshold: int | None = None,
    allow_large_delta: bool = False,
    bits: Bits | None = None,
) -> Release | TreeRelease:
    """Release a sketch, or a list of sketches of disjoint data, with (epsilon, delta)-differential privacy.

    Each release uses up its own epsilon and delta, even from the same sketch.

    Parameters
    ----------
    sketch : sketch or list of sketches
        What was counted. Several sketches must cover disjoint data, split by an attribute of the event such
        as its country and not by row number.
    epsilon : float
        Limit on the privacy loss, such as 1; smaller is more private and noisier.
    delta : float
        Probability with which that limit may fail, such as 1e-8; 0 with a `domain`.
    mechanism : str, optional
        The name of a mechanism; without it the proved default for this sketch is taken.
    max_events : int, optional
        A public bound on the number of events. "dpss" and "public-floor" need it; others use it to bound
        errors. A sketch that holds more is refused.
    domain : "A..B", range or list of keys, optional
        All keys that can occur, known to everybody; it goes with delta = 0.
    threshold : int, optional
        For a HierarchySketch: the smallest noisy residual of a published node; by default the smallest that
        the budget allows.
    allow_large_delta : bool
        Take a delta above 0.01, which protects almost nobody.
    bits : Bits, optional
        Random bits, for tests. By default those of the operating system's secure generator.

    Returns
    -------
    Release or TreeRelease
        The private table with its guarantee; of a HierarchySketch the tree.

    Raises
    ------
    NotProvedError
        If the mechanism is not proved for this sketch; the message names another way.
    """
    from hushcount.keys.domains import as_domain
    from hushcount.mechanisms.registry import prepare
    from hushcount.noise.bits import system_bits

    budget = budget_for(epsilon, delta, domain is not None)
    check_strength(budget, allow_large_delta)
    longest = check_max_events(max_events, budget.delta)
    shape = shape_of(sketch)
    check_total(sketch, shape, longest)
    if isinstance(shape, LevelCounters) and mechanism in (None, LEVELS):
        from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease

        return LevelFloorRelease(budget, shape.public(), threshold).release(shape, bits or system_bits())
    if threshold is not None:
        raise ParameterError("threshold is for a HierarchySketch; other mechanisms choose their own.")
    known = None if domain is None else as_domain(domain)
    prepared = prepare(mechanism, budget, shape.public().within(longest, known))
    return _assuming(prepared.release(shape, bits or system_bits()), sketch)


def _assuming(whole: Release, sketch: Sketch | Sequence[Sketch]) -> Release:
    """Return a release whose guarantee says what was assumed when sketches were merged."""
    from hushcount.sketches.merged import MergedCounters

    if not isinstance(sketch, MergedCounters):
        return whole
    assumed = (*whole.guarantee.assumptions, *sketch.assumptions)
    return replace(whole, guarantee=replace(whole.guarantee, assumptions=assumed))


def shape_of(sketch: Sketch | Sequence[Sketch]) -> Shape:
    """Return the summary of a sketch, or of several sketches of disjoint data."""
    from hushcount.sketches.shards import shards_of

    if isinstance(sketch, MANY):
        return shards_of(sketch)
    if not callable(getattr(sketch, "shape", None)):
        raise ParameterError(f"sketch must be a sketch, got {type(sketch).__name__}.")
    return sketch.shape()  # type: ignore[union-attr]


def check_total(sketch: Sketch | Sequence[Sketch], shape: Shape, longest: int | None) -> None:
    """Raise for more events than the public bound: what is proved for fewer would be claimed for these."""
    if longest is None or isinstance(shape, TrackedCells):  # an envelope compares by itself
        return
    sketches: list[Sketch] = list(sketch) if isinstance(sketch, MANY) else [sketch]  # type: ignore[list-item]
    if sum(one.total for one in sketches) > longest:
        raise DataError(
            f"{'The sketches hold' if len(sketches) > 1 else 'The sketch holds'} more than max_events ="
            f" {longest} events, so nothing was released; this message itself reveals that,"
            " outside the guarantee."
        )
