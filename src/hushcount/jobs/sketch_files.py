"""Files of sketches as a job: write, merge, release, look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from hushcount import signals
from hushcount.errors import DataError, NotProvedError, ParameterError
from hushcount.files.atomic import PathLike, check_writable, refuse_same
from hushcount.files.container import ORACLE, read
from hushcount.files.fingerprint import check_disjoint, content_digest
from hushcount.hierarchies.base import good_leaves
from hushcount.jobs.checkpoints import NOWHERE, Origin, Position
from hushcount.jobs.choices import (
    CELLS,
    DEPTH,
    HIERARCHY,
    KINDS,
    LEVEL_COUNTERS,
    USER_KINDS,
    WIDTH,
    SketchSize,
)
from hushcount.jobs.release import Released, as_drawn, shape_of
from hushcount.jobs.request import AskedHierarchy, Progress, Request, kept_counts, kept_sentence, with_columns
from hushcount.jobs.run import Run, Running, open_run
from hushcount.jobs.settings import COUNTERS, ReleaseSettings, new_sketch, taken
from hushcount.jobs.trust.spending import Spending
from hushcount.jobs.users import UserSettings
from hushcount.privacy import EVENT, USER
from hushcount.releases.accuracy import EVENTS
from hushcount.releases.oracle import Oracle
from hushcount.releases.published import check_per
from hushcount.releases.release import Release
from hushcount.releases.tree import TreeRelease
from hushcount.releases.views.report_files import write_files
from hushcount.shapes import ExactCounts, Shape, Sketch
from hushcount.sketches import kinds
from hushcount.sketches.base import SavedSketch
from hushcount.sketches.cells import LinearSketch
from hushcount.sketches.counters import StreamCounters
from hushcount.sketches.exact import Exact
from hushcount.sketches.kinds import load_with_position
from hushcount.sketches.levels import HierarchySketch
from hushcount.sketches.merged import HeldSketch
from hushcount.sketches.samples.bottom_k import BottomK
from hushcount.sketches.samples.weighted import WeightedSample
from hushcount.sources.wrapped import BoundedSource, check_keys

if TYPE_CHECKING:
    import pyarrow as pa

STOPPED = "Counting was stopped by a signal; the rows that came after it are not counted."
MERGED = (Exact, HeldSketch, StreamCounters, LinearSketch, HierarchySketch, BottomK, WeightedSample)


def write_sketch(
    request: Request,
    output: PathLike,
    *,
    size: SketchSize = SketchSize(),  # noqa: B008
    checkpoint: PathLike | None = None,
    progress: Progress | None = None,
) -> None:
    """Count the keys of `request` into a sketch file. The file is raw data (0600), not a release."""
    sketch = empty_sketch(request, size)
    request = replace(request, ordered=size.ordered)
    if isinstance(sketch, HierarchySketch):
        request = with_columns(request, sketch.hierarchy)
    if request.bound is not None:
        Running(checkpoint=checkpoint).of_users()  # refuses one
        request, progress = replace(request, progress=progress), None
    check_writable(output)
    with signals.handled():
        run = open_run(request, sketch, checkpoint, [output])
        run.look = look_at(sketch, request)
        try:
            run.count(progress)
        except KeyboardInterrupt:
            if run.source.is_pipe:
                with signals.held():
                    _save(run, request, output, (STOPPED,))
                    signals.leaves(f"{output} has what was counted until then; {signals.NOTHING}")
            raise
        with signals.held():
            _save(run, request, output)
            if run.checkpoint is not None:
                run.checkpoint.remove()


def look_at(sketch: Sketch, request: Request) -> Callable[[pa.Array], object] | None:
    """Return what stops the run at the first key that has no place in the tree of a sketch, if asked for."""
    if isinstance(sketch, HierarchySketch) and request.on_bad == "fail":
        return partial(good_leaves, sketch.hierarchy, on_bad="fail")
    return None


def _save(run: Run, request: Request, output: PathLike, notes: tuple[str, ...] = ()) -> None:
    """Write the sketch of what was counted, with notes about how that ended."""
    position = _finished_position(run, request)
    origin = replace(position.origin, notes=(*position.origin.notes, *notes))
    cast("SavedSketch", run.sketch).save(output, position=replace(position, origin=origin).to_dict())


def sketch_request(values: Mapping[str, object], kind: str) -> Request:
    """Return the data of a sketch; with `user`, as much of each user as is kept."""
    users, request = taken(UserSettings, values), taken(Request, values)
    if users.user is None:
        return request
    if kind not in USER_KINDS:
        raise ParameterError(
            f"kind {kind} cannot be combined with user: a sketch file of users is {', '.join(USER_KINDS)}."
        )
    return replace(request.of_users(users), with_users=kind not in KINDS)


def empty_sketch(request: Request, size: SketchSize) -> SavedSketch:
    """Return an empty sketch of a kind that can count what is asked for."""
    if size.kind in CELLS:
        return _cells(size)
    if size.kind == HIERARCHY:
        hierarchy = AskedHierarchy(cast("str", size.hierarchy), size.height).parsed
        return HierarchySketch(hierarchy, size.counters or LEVEL_COUNTERS)
    counters = COUNTERS if size.counters is None else size.counters
    if size.threads > 1:
        request.check_single("threads")
        if request.bound is not None:
            raise ParameterError("threads cannot be combined with user, which uses all cores by itself.")
        return kinds.new("key-shards", counters=counters, threads=size.threads)
    if size.kind in KINDS:
        return new_sketch(size.kind, counters)
    if request.bound is None:
        raise ParameterError(f"kind {size.kind} counts users, so it needs user, a column.")
    return kinds.new(size.kind, counters=counters)


def _cells(size: SketchSize) -> LinearSketch:
    """Return an empty sketch of cells for events of weight 1, with a fresh hash key or that of another."""
    if size.like is None:
        depth, width = size.depth or DEPTH, size.width or WIDTH
        return cast("LinearSketch", kinds.new(size.kind, depth=depth, width=width, max_weight=1))
    other = Oracle.load(size.like) if is_oracle(size.like) else kinds.load(size.like)
    if not isinstance(other, Oracle | LinearSketch) or other.hashing.kind != size.kind:
        raise ParameterError(f"like must be a sketch or oracle of kind {size.kind}.")
    return cast("type[LinearSketch]", kinds.KINDS[size.kind]).with_hash(other.hashing, max_weight=1)


def _finished_position(run: Run, request: Request) -> Position:
    """Return the position of a sketch that has read all; of users, with what is kept of each."""
    position, source = run.position(finished=True), run.source
    if request.bound is None or not isinstance(source, BoundedSource):
        return position
    notes = (*position.origin.notes, kept_sentence(request.bound.largest))
    inner = Origin.of(source.source)
    origin = replace(position.origin, notes=notes, window=inner.window, clock=inner.clock)
    return replace(position, fingerprint=source.source.fingerprint, origin=origin)


def merge_sketches(paths: Sequence[PathLike], output: PathLike) -> str:
    """Add up sketch files of different data into one, which is raw data too; return what that assumes."""
    if len(paths) < 2:
        raise ParameterError("merge needs at least two sketches.")
    check_writable(output)
    refuse_same([output], paths)
    opened = [finished(path) for path in paths]
    sketches, origin, _ = _together(paths, opened)
    first, *others = sketches
    merged: SavedSketch = first
    for other in others:
        if not isinstance(merged, MERGED):
            raise NotProvedError(
                f"No way to merge {type(merged).__name__} is proved; count all data with one."
            )
        merged = merged.merge(cast("Any", other))
    assumed = f"No {origin.unit.name} is in two of the {len(paths)} merged sketches; you state it."
    whole = replace(origin, notes=tuple(dict.fromkeys((*origin.notes, assumed))))
    parts = "\n".join(part for _, _, part in opened)
    position = Position(sum(sketch.total for sketch in sketches), True, parts, {}, whole)
    merged.save(output, position=position.to_dict())
    return assumed


def _together(
    paths: Sequence[PathLike], opened: Sequence[tuple[SavedSketch, Origin, str]]
) -> tuple[list[SavedSketch], Origin, tuple[str, ...]]:
    """Return sketches of the same columns and unit, where they came from, and what must be assumed."""
    sketches, origins = [sketch for sketch, _, _ in opened], [origin for _, origin, _ in opened]
    assumed = check_disjoint([(str(path), data) for path, (_, _, data) in zip(paths, opened, strict=True)])
    first = origins[0]
    for path, origin in zip(paths, origins, strict=True):
        if (origin.columns, origin.unit) != (first.columns, first.unit):
            raise DataError(f"{path} has other key columns or another unit than {paths[0]}.")
    unit = replace(first.unit, rows=max(origin.unit.rows for origin in origins))
    for sketch in sketches:
        if sketch.unit == EVENT:  # files of earlier versions keep the unit beside the sketch only
            sketch.unit = unit
    notes = dict.fromkeys(note for origin in origins for note in origin.notes)
    windows = {(origin.window, origin.clock) for origin in origins}
    window = first.window if len(windows) == 1 else None
    if unit == USER and assumed:
        assumed = ("Assumed: no user is in two of the sketches.",)
    return sketches, replace(first, unit=unit, notes=tuple(notes), window=window), assumed


def release_sketches(
    paths: Sequence[PathLike],
    settings: ReleaseSettings,
    spending: Spending = Spending(),  # noqa: B008
    threshold: int | None = None,
) -> Release | TreeRelease:
    """Release a finished sketch file, or several of disjoint data together; every release spends again."""
    release, origin = open_sketches(paths, settings, threshold)
    read = release.settings
    if release.is_tree:
        drawn: TreeRelease = release.publish(spending, as_drawn)
        tree = drawn.with_notes(*origin.notes).at_confidence(read.confidence)
        done = tree.made_with({"threshold": threshold, **read.stated()}, read.source_name)
        if any(read.outputs):
            write_files(done, *read.outputs)
        return done
    counted = EVENTS if origin.unit != USER else kept_counts("users", origin.unit.rows)

    def finish(drawn: Release) -> Release:
        return read.published(replace(drawn, counted=counted), origin)

    return read.finished(release.publish(spending, finish))


def open_sketches(
    paths: Sequence[PathLike], settings: ReleaseSettings, threshold: int | None = None
) -> tuple[Released, Origin]:
    """Return sketches that may be released together, and where they came from."""
    refuse_same(settings.outputs, paths)
    sketches, origin, assumed = _together(paths, [finished(path) for path in paths])
    origin = replace(origin, notes=(*origin.notes, *assumed))
    settings = settings.with_domain(origin.columns.key_type)
    if settings.domain is not None:
        check_keys(settings.domain, origin.columns)
    whole = sketches[0] if len(sketches) == 1 else cast("list[Sketch]", sketches)
    files = " ".join(content_digest(str(path)) for path in paths)
    release = Released(whole, _shape(whole), settings, threshold, source=files, window=origin.span)
    check_per(settings.per, origin.columns.key_names, settings.limit)
    for name, given in (("limit", settings.limit), ("min_count", settings.min_count)):
        if release.is_tree and given is not None:
            raise ParameterError(f"{name} cannot be combined with the sketch of a tree.")
    return release, origin


def _shape(sketch: Sketch | list[Sketch]) -> Shape:
    """Return the summary; of exact counts of users, one that says how many of them one user can change."""
    if not isinstance(sketch, Exact) or sketch.unit != USER:
        return shape_of(sketch)
    counts = sketch.shape()
    return ExactCounts([(counts.keys, counts.counts)], sketch.unit.rows, sketch.unit)


def finished(path: PathLike) -> tuple[SavedSketch, Origin, str]:
    """Return the sketch of a finished run, where it came from, and what tells its data from others.

    That is a line for its id, and a line for the fingerprint of its data, or the lines of all its parts. The
    id of cells is that of their hash functions, which other data share.
    """
    sketch, position = opened_file(path)
    own = "" if isinstance(sketch, LinearSketch) else sketch.id
    if position is None:
        return sketch, NOWHERE, own
    if not position.finished:
        raise DataError(f"{path} is the checkpoint of an unfinished run; finish that run first.")
    return sketch, position.origin, f"{own}\n{position.fingerprint}"


def opened_file(path: PathLike) -> tuple[SavedSketch, Position | None]:
    """Return the sketch of a file, and how far it has read its source, if that is known."""
    sketch, values = load_with_position(path)
    position = None if values is None else Position.from_dict(values, str(path))
    return sketch, position


def is_oracle(path: PathLike) -> bool:
    """Return whether a file is an oracle; raise if it is no file of hushcount."""
    return read(path).kind == ORACLE
