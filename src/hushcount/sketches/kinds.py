"""The kinds of sketches: one table, a new sketch by its kind, and a sketch from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from hushcount.errors import SketchFileError
from hushcount.files import container
from hushcount.registry import Registry

if TYPE_CHECKING:
    from hushcount.files.container import Contents, Fields, Source
    from hushcount.sketches.base import SavedSketch

KINDS: Registry[type[SavedSketch]] = Registry(
    "sketch",
    {
        "space-saving": "hushcount.sketches.counters:SpaceSaving",
        "misra-gries": "hushcount.sketches.counters:MisraGries",
        "foreign-misra-gries": "hushcount.sketches.foreign:ForeignMisraGries",
        "key-shards": "hushcount.sketches.dealt.key_shards:KeyShardSketch",
        "exact": "hushcount.sketches.exact:Exact",
        "merged": "hushcount.sketches.merged:MergedCounters",
        "user-misra-gries": "hushcount.sketches.users:UserMisraGries",
        "count-min": "hushcount.sketches.linear:CountMin",
        "count-sketch": "hushcount.sketches.linear:CountSketch",
        "tracked": "hushcount.sketches.linear:TrackedSketch",
        "hierarchy": "hushcount.sketches.levels:HierarchySketch",
        "bottom-k": "hushcount.sketches.samples.bottom_k:BottomK",
        "weighted-sample": "hushcount.sketches.samples.weighted:WeightedSample",
    },
)


def new(kind: str, **size: object) -> SavedSketch:
    """Return an empty sketch.

    Parameters
    ----------
    kind : str
        A name of the table.
    **size
        What the class takes: counters, depth, width, hierarchy.

    Examples
    --------
    >>> new("space-saving", counters=100).counters
    100
    """
    return KINDS[kind](**size)


def load(source: Source) -> SavedSketch:
    """Return the sketch that a file, or bytes of one, hold.

    Parameters
    ----------
    source : path or bytes
        What `save` has written, or `to_bytes` returned.

    Raises
    ------
    SketchFileError
        If it is damaged, not a sketch, or of a newer version.
    """
    return load_with_position(source)[0]


def load_with_position(source: Source) -> tuple[SavedSketch, Fields | None]:
    """Return the sketch of a file, and the position in its source that was saved beside it, if any."""
    name = container.name_of(source)
    contents = container.read(source)
    if contents.kind == container.ORACLE:
        raise SketchFileError(f"{name} is an oracle, not a sketch; ask it with hushcount oracle query.")
    return container.fitted(name, lambda: _sketch(contents)), contents.position


def _sketch(contents: Contents) -> SavedSketch:
    """Return the sketch that contents describe; raise ValueError or SketchFileError if they describe none."""
    try:
        return KINDS[contents.kind].from_contents(contents)
    except pa.ArrowException:
        raise ValueError("keys") from None
