"""The sketch file of a log that grows: each call counts the lines that came since the last one.

The file holds the sketch together with the position in the log, and is replaced whole. So a call that fails
or is interrupted leaves it as it was, and the next one goes on from there: no line counts twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from hushcount import signals
from hushcount.errors import DataError, ParameterError
from hushcount.files.atomic import PathLike, check_writable, refuse_same, replace_verified
from hushcount.files.fingerprint import Fingerprint
from hushcount.jobs.checkpoints import Position, check_same_sketch
from hushcount.jobs.choices import SketchSize
from hushcount.jobs.request import Progress, Request, with_columns
from hushcount.jobs.run import Run
from hushcount.jobs.sketch_files import empty_sketch, look_at
from hushcount.sketches.base import SavedSketch
from hushcount.sketches.kinds import load_with_position
from hushcount.sketches.levels import HierarchySketch
from hushcount.sources.growing import GONE, MORE, POSITION
from hushcount.sources.source import Source

NO_CHECKPOINT = "append cannot be combined with {}: the sketch file itself is where counting goes on."
NO_POSITION = "{} is not the sketch of a log that grows, so nothing can be appended to it; name another file."
OTHER_QUESTION = (
    "{} was counted from the log with another column, type, format or window, or another rule for malformed"
    " lines, so nothing can be appended to it; ask as before, or name another file."
)
TRUNCATED = (
    "{} was truncated, and no rotated log beside it has what was counted: lines that came after that, and"
    " before it was truncated, are missing."
)


def write_growing(
    request: Request,
    output: PathLike,
    *,
    size: SketchSize = SketchSize(),  # noqa: B008
    progress: Progress | None = None,
) -> tuple[str, ...]:
    """Count the lines that a log has got since the last call into its sketch file, which is raw data.

    Parameters
    ----------
    request
        The log, its format and the columns, the same for each call.
    output
        The sketch file: made by the first call, continued by the others.
    size
        What kind of sketch, and how large.
    progress
        Is called with the bytes that were read, and those that are to be read.

    Returns
    -------
    tuple of str
        Sentences for the operator, if lines of the log may be missing.
    """
    fresh = empty_sketch(request, size)
    if isinstance(fresh, HierarchySketch):
        request = with_columns(request, fresh.hierarchy)
    request.check_log()
    request = replace(request, append=True, ordered=size.ordered)
    check_writable(output)
    told: dict[str, None] = {}
    with signals.handled():
        for source in _counted(request, fresh, Path(output), progress):
            if GONE in source.state:
                told[TRUNCATED.format(request.data)] = None
    return tuple(told)


def _counted(
    request: Request, fresh: SavedSketch, output: Path, progress: Progress | None
) -> Iterator[Source]:
    """Count stretch after stretch of the log; the file is replaced after each."""
    sketch, position = _stopped(output, fresh)
    more = True
    while more:
        source = request.open({} if position is None else position.state)
        refuse_same([output], source.inputs)
        if position is not None:
            _check_question(output, position, source)
        before = 0 if position is None else position.rows
        reading = Run(source, sketch, look=look_at(sketch, request))
        sketch.unit = source.unit
        reading.count(progress)
        position = replace(reading.position(finished=True), rows=before + reading.rows)
        _save(output, sketch, position)
        yield source
        more = MORE in source.state


def _stopped(output: Path, fresh: SavedSketch) -> tuple[SavedSketch, Position | None]:
    """Return the sketch and the position of a file, or an empty sketch if there is none yet."""
    if not output.exists():
        return fresh, None
    sketch, values = load_with_position(output)
    position = None if values is None else Position.from_dict(values, str(output))
    if position is None or POSITION not in position.state:
        raise ParameterError(NO_POSITION.format(output))
    check_same_sketch(output, sketch, fresh)
    signals.leaves(f"{output} is as it was; {signals.NOTHING}")
    return sketch, position


def _check_question(output: Path, position: Position, source: Source) -> None:
    """Raise unless the same is asked of the log as before."""
    before, now = Fingerprint.parse(position.fingerprint), Fingerprint.parse(source.fingerprint)
    same = before is not None and now is not None and before.question == now.question
    if not same or (position.origin.unit, position.origin.notes) != (source.unit, source.notes):
        raise DataError(OTHER_QUESTION.format(output))


def _save(output: Path, sketch: SavedSketch, position: Position) -> None:
    """Replace the file by this sketch and position, once they have been found whole."""
    with signals.held():
        data = sketch.to_bytes(position=position.to_dict())
        load_with_position(data)
        replace_verified(output, data)
        signals.leaves(f"{output} has what was counted until then; {signals.NOTHING}")
