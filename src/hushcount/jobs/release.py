"""`release`: from a sketch, or several, to a private table; `add`: from published tables to their sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar, cast

from hushcount.errors import DataError, ParameterError
from hushcount.files.atomic import PathLike, refuse_same
from hushcount.privacy import LARGEST_COUNT, check_confidence, check_count
from hushcount.shapes import LevelCounters, Shape, Sketch, TrackedCells

if TYPE_CHECKING:
    from hushcount.accounting.runs import RunPlan
    from hushcount.accounting.windows import TimeWindow
    from hushcount.jobs.settings import ReleaseSettings
    from hushcount.jobs.trust.dry_run import DryRun
    from hushcount.jobs.trust.spending import Recorded, Spending
    from hushcount.keys.memory import Data
    from hushcount.mechanisms.base import Calibrated, Mechanism
    from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease
    from hushcount.noise.bits import Bits
    from hushcount.releases.release import Release
    from hushcount.releases.tree import TreeRelease

MANY = (list, tuple)
Published = TypeVar("Published", bound="Release | TreeRelease")


def release(
    sketch: Sketch | Sequence[Sketch],
    *,
    epsilon: float | None = None,
    delta: float,
    rho: float | None = None,
    mechanism: str | None = None,
    max_events: int | None = None,
    domain: Data = None,
    threshold: int | None = None,
    allow_large_delta: bool = False,
    bits: Bits | None = None,
    ledger: PathLike | None = None,
    dataset: str | None = None,
    run_id: str | None = None,
    again: bool = False,
    dry_run: bool = False,
) -> Release | TreeRelease:
    """Release a sketch, or a list of sketches of disjoint data, with (epsilon, delta)-differential privacy.

    Each release uses up its own epsilon and delta, even from the same sketch. Other ways to put parts
    together: `merge` of a sketch adds up raw sketches into one, `add_releases` adds up published tables, and
    `merge` of an oracle adds up published oracles.

    Parameters
    ----------
    sketch : sketch or list of sketches
        What was counted. Several sketches must cover disjoint data, split by an attribute of the event such
        as its country and not by row number.
    epsilon : float, optional
        Limit on the privacy loss, such as 1; smaller is more private and noisier.
    delta : float
        Probability with which that limit may fail, such as 1e-8; 0 with a `domain`.
    rho : float, optional
        In place of epsilon, for Gaussian noise: the budget in zero-concentrated differential privacy.
    mechanism : str, optional
        The name of a mechanism; without it the proved default for this sketch is taken.
    max_events : int, optional
        A public bound on the number of events. "dpss" and "public-floor" need it; others use it to bound
        errors. A sketch that holds more is refused.
    domain : "A..B", range or list of keys, optional
        All keys that can occur, known to everybody; it requires delta = 0. Several sketches must then have
        the same number of counters.
    threshold : int, optional
        For a HierarchySketch: the smallest noisy residual of a published node; by default the smallest that
        the budget allows.
    allow_large_delta : bool
        Take a delta above 0.01, which protects almost nobody.
    bits : Bits, optional
        Random bits, for tests. By default those of the operating system's secure generator.
    ledger : path or str, optional
        A ledger, a file or postgresql://..., that is charged before the noise is drawn. Default:
        HUSHCOUNT_LEDGER.
    dataset : str, optional
        The dataset in the ledger whose budget pays.
    run_id : str, optional
        The name of the run. A retry with the same name gets the answer that was stored. A sketch needs one.
    again : bool
        Draw and pay anew although there is an answer.
    dry_run : bool
        Return what the release would be and cost, a `DryRun` to print, without any noise and at no cost.

    Returns
    -------
    Release or TreeRelease
        The private table with its guarantee; of a HierarchySketch the tree.

    Raises
    ------
    NotProvedError
        If the mechanism is not proved for this sketch; the message names another way.
    """
    from hushcount.jobs.settings import ReleaseSettings
    from hushcount.jobs.trust.spending import Spending
    from hushcount.keys.domains import as_domain
    from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease

    spending = Spending(ledger=ledger, dataset=dataset, run_id=run_id, again=again)
    shape = shape_of(sketch)
    tree = isinstance(shape, LevelCounters) and mechanism in (None, LevelFloorRelease.name)
    settings = ReleaseSettings(
        epsilon=epsilon,
        rho=rho,
        delta=delta,
        mechanism=None if tree else mechanism,
        max_events=max_events,
        domain=None if domain is None else as_domain(domain),
        allow_large_delta=allow_large_delta,
    )
    asked = Released(sketch, shape, settings, threshold, bits)
    if dry_run:
        return cast("Release", asked.dry(spending))
    stated = {"threshold": threshold, "max_events": max_events} if tree else settings.stated()
    return asked.publish(spending, as_drawn).made_with(stated, None)


def as_drawn(whole: Published) -> Published:
    """Return a release as it was drawn."""
    return whole


@dataclass(frozen=True)
class Released:
    """Sketches that are about to be released together.

    `threshold` is for the sketch of a hierarchy. `source` identifies their files, and `window` is the time
    that their rows are from; sketches in memory have neither.
    """

    sketch: Sketch | Sequence[Sketch]
    shape: Shape
    settings: ReleaseSettings
    threshold: int | None = None
    bits: Bits | None = None
    source: str = ""
    window: TimeWindow | None = None

    def __post_init__(self) -> None:
        if self.threshold is not None and not self.is_tree:
            raise ParameterError(
                "threshold is for the sketch of a hierarchy; other releases choose their own."
            )

    @property
    def is_tree(self) -> bool:
        """Whether a tree is released, because a hierarchy was counted and no other mechanism is named."""
        return isinstance(self.shape, LevelCounters) and self.settings.mechanism is None

    def mechanism(self) -> Calibrated:
        """Return the mechanism, calibrated for the sizes of the sketches, or raise."""
        from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease
        from hushcount.mechanisms.registry import prepare

        settings, public = self.settings, self.shape.public()
        if self.is_tree:
            return cast("Calibrated", LevelFloorRelease(settings.budget, public, self.threshold))
        public = public.within(settings.max_events, settings.domain)
        return prepare(settings.mechanism, settings.budget, public)

    def planned(self, mechanism: Calibrated, spending: Spending) -> RunPlan | None:
        """Return what the release asks of the ledger, None without one."""
        cost, public = mechanism.event(), mechanism.public
        if self.is_tree:
            law = (mechanism.name, public, cast("LevelFloorRelease", mechanism).threshold)
            return spending.planned_sketch(cost, public.unit, law)
        question = {"command": "release", "mechanism": mechanism.name, "public": public}
        return spending.planned(cost, public.unit, question, self.source, self.window)

    def dry(self, spending: Spending) -> DryRun:
        """Return what the release of sketches in memory would be, or raise as the release would."""
        from hushcount.jobs.trust.dry_run import dry_sketch

        mechanism = self.mechanism()
        check_total(self.sketch, self.shape, self.settings.max_events)
        preview = spending.preview(self.planned(mechanism, spending))
        return dry_sketch(mechanism, self.settings, preview, mechanism.public.unit)

    def publish(self, spending: Spending, finish: Callable[[Published], Published]) -> Published:
        """Return the release that `finish` makes of what is drawn, or that a ledger has stored."""
        from hushcount.jobs.run import drawn

        calibrated = self.mechanism()
        recorded: Recorded[Published] = spending.reserve(self.planned(calibrated, spending))
        stored = recorded.stored()
        if stored is not None:
            return stored
        check_total(self.sketch, self.shape, self.settings.max_events)
        mechanism = cast("Mechanism[Shape, Published]", calibrated)
        return recorded.drawn(lambda: finish(self._assuming(drawn(mechanism, self.shape, self.bits))))

    def _assuming(self, whole: Published) -> Published:
        """Return a release whose guarantee says what was assumed of merged sketches and foreign tables."""
        from hushcount.sketches.foreign import ForeignMisraGries
        from hushcount.sketches.merged import MergedCounters

        if not isinstance(self.sketch, MergedCounters | ForeignMisraGries):
            return whole
        assumed = (*whole.guarantee.assumptions, *self.sketch.assumptions)
        return replace(whole, guarantee=replace(whole.guarantee, assumptions=assumed))


def shape_of(sketch: Sketch | Sequence[Sketch]) -> Shape:
    """Return the summary of a sketch, or of several sketches of disjoint data."""
    from hushcount.sketches.merged import shards_of

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


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What is shown of a published table, and where it is written. None of it costs privacy."""

    confidence: float = 0.95
    limit: int | None = None
    per: str | None = None
    min_count: int | None = None
    output: PathLike | None = None
    plot: PathLike | None = None
    report: PathLike | None = None
    source_name: str | None = None

    def __post_init__(self) -> None:
        from hushcount.releases.views.report_files import check_files

        check_confidence(self.confidence)
        if self.limit is not None:
            check_count("limit", self.limit, most=LARGEST_COUNT)
        if self.min_count is not None:
            check_count("min_count", self.min_count, least=0, most=LARGEST_COUNT)
        check_files(self.output, self.plot, self.report)


def add_files(paths: Sequence[PathLike], shown: Shown) -> Release:
    """Add up tables of disjoint data that were published as JSON, each by whoever holds its data."""
    from hushcount.releases.added import add_releases
    from hushcount.releases.published import check_per
    from hushcount.releases.stored.reading import read_release
    from hushcount.releases.views.report_files import write_files

    if len(paths) < 2:
        raise ParameterError("add needs at least two releases.")
    refuse_same((shown.output, shown.plot, shown.report), paths)
    whole = add_releases([cast("Release", read_release(path)) for path in paths])
    check_per(shown.per, whole.keys.column_names, shown.limit)
    cut = whole.cut(shown.min_count, shown.limit, shown.per).at_confidence(shown.confidence)
    names = ("confidence", "limit", "per", "min_count")
    stated = {name: getattr(shown, name) for name in names}
    done = cut.made_with(stated, shown.source_name)
    write_files(done, shown.output, shown.plot, shown.report)
    return done
