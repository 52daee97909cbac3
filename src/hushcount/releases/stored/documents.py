"""Releases, trees, keys and oracles as documents of version 2, and documents as releases.

The content of a document is everything that is needed to get the release back. What follows from it, the
accuracy and the rows with their intervals, is beside it for people and other programs. docs/release-json.md
describes each member.
"""

from __future__ import annotations

from dataclasses import fields as fields_of
from typing import Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
import pyarrow as pa

from hushcount.privacy import check_confidence
from hushcount.releases.accuracy import Counted, ErrorModel
from hushcount.releases.key_list import KeyList, NoCounts
from hushcount.releases.oracle import Oracle
from hushcount.releases.other import NoisyTotal, TwoSided
from hushcount.releases.release import Release
from hushcount.releases.stored.columns import (
    column_from,
    column_plain,
    table_from,
    table_plain,
)
from hushcount.releases.stored.earlier import StatedError
from hushcount.releases.stored.exact import (
    Plain,
    canonical,
    count_from,
    digest,
    fields_from,
    flag_from,
    float_from,
    list_from,
    number_plain,
    shown_plain,
    text_from,
    texts_from,
    whole_from,
    whole_plain,
)
from hushcount.releases.stored.guarantees import guarantee_from, guarantee_plain
from hushcount.releases.stored.models import TABLES, TREES, model_from, model_plain
from hushcount.releases.stored.oracles import ALWAYS, made_from, made_plain, oracle_from, oracle_plain
from hushcount.releases.tree import TreeRelease
from hushcount.releases.trees.nodes import TreeError, TreeRows
from hushcount.releases.writers import with_texts

Stored: TypeAlias = Release | TreeRelease | Oracle
"""Everything that a document can hold."""

VERSION = 2
BESIDE = ("accuracy", "rows", "other", "digest", "signature")
SHOWN = ("guarantee", "error", "floors", "confidence")
TABLE = ("floor", "counted", "noun", "whole", "keys", "counts")
TREE = ("threshold", "hierarchy", "height", "nodes")
ROWS = ("keys", "counts", "nodes", "levels", "parents", "residuals", "totals", "digest")
NUMBERS = ("levels", "parents", "residuals", "totals")


@runtime_checkable
class Floored(Protocol):
    """An error model that knows all noisy floors that were published."""

    @property
    def floors(self) -> tuple[int, ...]:
        """The noisy floors: of each shard, or of each level."""
        ...


def document(release: Stored) -> dict[str, Plain]:
    """Return everything about a release as plain values, with their digest."""
    values = content_plain(release)
    if isinstance(release, Release | TreeRelease):
        values |= {"accuracy": accuracy_plain(release), "rows": rows_plain(release.table)}
        values |= other_plain(release)
    return values | {"digest": digest(values)}


def json_of(release: Stored) -> str:
    """Return the document of a release as one line of JSON."""
    return canonical(document(release)).decode("utf-8", "surrogatepass")


def about(release: Release | TreeRelease) -> dict[str, Plain]:
    """Return the document without any row, to be kept beside a table in another format."""
    values = document(release)
    return {name: values[name] for name in values if name not in ROWS} | {"rows": None}


def content_plain(release: Stored) -> dict[str, Plain]:
    """Return what is needed to get a release back."""
    values: dict[str, Plain] = {
        "hushcount": VERSION,
        "made": made_plain(release.made),
        "notes": list(release.notes),
    }
    if isinstance(release, Oracle):
        return values | {"kind": "oracle"} | oracle_plain(release)
    values["guarantee"] = guarantee_plain(release.guarantee)
    values["confidence"] = number_plain(release.confidence)
    values["error"] = model_plain(release.error) or model_plain(StatedError.of(release))
    values["floors"] = list(map(whole_plain, _floors(release)))
    if isinstance(release, TreeRelease):
        return values | {"kind": "tree"} | _tree_plain(release)
    if isinstance(release, KeyList):
        fields = _table_plain(release)
        return values | {"kind": "key-list"} | {name: fields[name] for name in fields if name != "counts"}
    return values | {"kind": "release"} | _table_plain(release)


def release_from(values: dict[str, Plain]) -> Stored:
    """Return the release of a document of version 2, or raise."""
    content: Plain = {name: value for name, value in values.items() if name not in BESIDE}
    kind = text_from(values["kind"])
    if kind == "oracle":
        return oracle_from(content)
    if kind == "key-list":
        return _list_from(content)
    return table_release_from(content) if kind == "release" else _tree_from(content)


def _list_from(content: Plain) -> KeyList:
    """Return keys without counts, or raise."""
    if not isinstance(content, dict) or "counts" in content:
        raise ValueError("counts")
    rows = len(table_from(content["keys"]))
    whole = table_release_from({**content, "kind": "release", "counts": [0] * rows})
    if not isinstance(whole.error, NoCounts) or whole.counted.noun != "keys":
        raise ValueError("error")
    return KeyList(*(getattr(whole, each.name) for each in fields_of(whole)))


def table_release_from(content: Plain) -> Release:
    """Return a table of keys, or raise."""
    totalled = ("total",) if isinstance(content, dict) and "total" in content else ()
    fields = fields_from(content, ALWAYS + SHOWN + TABLE + totalled)
    noun, said = text_from(fields["noun"]), text_from(fields["counted"])
    release = Release(
        table_from(fields["keys"]),
        pa.array(list_from(fields["counts"], count_from), pa.int64()),
        guarantee_from(fields["guarantee"]),
        cast("ErrorModel", model_from(fields["error"], TABLES)),
        None if fields["floor"] is None else whole_from(fields["floor"]),
        texts_from(fields["notes"]),
        check_confidence(float_from(fields["confidence"])),
        flag_from(fields["whole"]),
        Counted(noun, "" if said == Counted(noun).sentence else said),
        made_from(fields["made"]),
        _total_from(fields["total"]) if totalled else None,
    )
    falling = bool((np.diff(release.counts.to_numpy()) <= 0).all())
    if (
        (fields["hushcount"], fields["kind"]) != (VERSION, "release")
        or len(release.keys) != len(release)
        or not falling
    ):
        raise ValueError("rows")
    _check_floors(release, fields["floors"])
    return release


def _total_from(value: Plain) -> NoisyTotal:
    """Return the noisy total of a table, or raise."""
    fields = fields_from(value, ("value", "noise"))
    noise = model_from(fields["noise"], ("discrete-laplace",))
    return NoisyTotal(whole_from(fields["value"]), cast("TwoSided", noise))


def _table_plain(release: Release) -> dict[str, Plain]:
    """Return what a table of keys has beyond what every release has."""
    total = release.total
    known: dict[str, Plain] = {}
    if total is not None:
        known["total"] = {"value": whole_plain(total.value), "noise": model_plain(total.noise)}
    return known | {
        "floor": None if release.floor is None else whole_plain(release.floor),
        "counted": release.counted.sentence,
        "noun": release.counted.noun,
        "whole": release.whole,
        "keys": table_plain(release.keys),
        "counts": list(map(whole_plain, release.counts.to_pylist())),
    }


def _tree_plain(release: TreeRelease) -> dict[str, Plain]:
    """Return what a tree has beyond what every release has."""
    rows = release.rows
    columns = (rows.levels, rows.parents, rows.residuals, rows.totals)
    numbers = {
        name: list(map(whole_plain, column.tolist())) for name, column in zip(NUMBERS, columns, strict=True)
    }
    return {
        "threshold": whole_plain(release.threshold),
        "hierarchy": release.hierarchy,
        "height": release.height,
        "nodes": column_plain("node", rows.nodes),
        **numbers,
    }


def _tree_from(content: Plain) -> TreeRelease:
    """Return a tree, or raise."""
    fields = fields_from(content, ALWAYS + SHOWN + TREE + NUMBERS)
    height = whole_from(fields["height"], 1, 1 << 20)
    name, nodes = column_from(fields["nodes"])
    columns = [np.array(list_from(fields[name], count_from), np.int64) for name in NUMBERS]
    rows = TreeRows(nodes, *columns)
    earlier = (rows.parents >= -1) & (rows.parents < np.arange(len(nodes)))
    inside = (rows.levels >= 0) & (rows.levels <= height)
    if fields["kind"] != "tree" or {len(column) for column in columns} != {len(nodes)}:
        raise ValueError("rows")
    if not (earlier & inside).all() or nodes.null_count or name != "node":
        raise ValueError("rows")
    release = TreeRelease(
        rows,
        guarantee_from(fields["guarantee"]),
        cast("TreeError", model_from(fields["error"], TREES)),
        whole_from(fields["threshold"], 1),
        text_from(fields["hierarchy"]),
        height,
        texts_from(fields["notes"]),
        check_confidence(float_from(fields["confidence"])),
        made_from(fields["made"]),
    )
    _check_floors(release, fields["floors"])
    return release


def _floors(release: Release | TreeRelease) -> tuple[int, ...]:
    """Return all noisy floors that were published."""
    if isinstance(release.error, Floored):
        return release.error.floors
    if isinstance(release, TreeRelease) or release.floor is None:
        return ()
    return (release.floor,)


def _check_floors(release: Release | TreeRelease, floors: Plain) -> None:
    """Raise unless the floors of a document are those of its error model."""
    if list_from(floors, whole_from) != _floors(release):
        raise ValueError("floors")


def other_plain(release: Release | TreeRelease) -> dict[str, Plain]:
    """Return what a table does not show, under its name, if its total was asked for."""
    other = release.other if isinstance(release, Release) else None
    return {} if other is None else {"other": {name: whole_plain(n) for name, n in other.to_dict().items()}}


def accuracy_plain(release: Release | TreeRelease) -> dict[str, Plain]:
    """Return the stated accuracy: bounds as whole numbers, the confidence as a text."""
    values = release.accuracy(release.confidence).to_dict()
    return {name: _stated_plain(value) for name, value in values.items()}


def _stated_plain(value: object) -> Plain:
    """Return one member of the accuracy."""
    if isinstance(value, tuple):
        return [each if isinstance(each, str) else whole_plain(each) for each in value]
    if isinstance(value, float):
        return number_plain(value)
    return whole_plain(value) if isinstance(value, int) else None


def rows_plain(table: pa.Table) -> list[Plain]:
    """Return the rows for people and other programs: numbers, and text for everything else."""
    return [
        {name: shown_plain(value) for name, value in row.items()} for row in with_texts(table).to_pylist()
    ]
