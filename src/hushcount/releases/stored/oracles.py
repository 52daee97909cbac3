"""Oracles in files, as JSON and in the container, and how any release was made."""

from __future__ import annotations

import numpy as np

from hushcount.files import container
from hushcount.keys.row_hash import RowHash
from hushcount.releases.made import Made
from hushcount.releases.oracle import CONTENTS, Oracle
from hushcount.releases.stored.columns import type_from, type_plain
from hushcount.releases.stored.exact import (
    Plain,
    count_from,
    fields_from,
    flag_from,
    list_from,
    text_from,
    texts_from,
    whole_from,
    whole_plain,
)
from hushcount.releases.stored.guarantees import guarantee_from, guarantee_plain

ALWAYS = ("hushcount", "kind", "made", "notes")
ORACLE = ("guarantees", "sketch", "depth", "width", "hash_key", "key_type", "partial", "merged", "cells")
MADE = ("version", "time", "options", "source_name", "recipe")


def oracle_plain(oracle: Oracle) -> dict[str, Plain]:
    """Return what an oracle has beyond its notes."""
    hashing = oracle.hashing
    return {
        "guarantees": [guarantee_plain(each) for each in oracle.guarantees],
        "sketch": hashing.kind,
        "depth": hashing.depth,
        "width": hashing.width,
        "hash_key": hashing.key.hex(),
        "key_type": type_plain(oracle.key_type),
        "partial": oracle.partial,
        "merged": sorted(oracle.merged),
        "cells": list(map(whole_plain, oracle.cells.ravel().tolist())),
    }


def oracle_from(content: Plain) -> Oracle:
    """Return an oracle, or raise."""
    fields = fields_from(content, ALWAYS + ORACLE)
    depth, width = (whole_from(fields[name], 1) for name in ("depth", "width"))
    hashing = RowHash(text_from(fields["sketch"]), depth, width, bytes.fromhex(text_from(fields["hash_key"])))
    cells = np.array(list_from(fields["cells"], count_from), np.int64)
    oracle = Oracle(
        cells.reshape(depth, width),
        hashing,
        type_from(fields["key_type"]),
        list_from(fields["guarantees"], guarantee_from),
        texts_from(fields["notes"]),
        flag_from(fields["partial"]),
        frozenset(texts_from(fields["merged"])),
        made_from(fields["made"]),
    )
    return oracle.checked()


def contents_of(oracle: Oracle) -> container.Contents:
    """Return what the container holds of an oracle."""
    fields: container.Fields = {
        "contents": CONTENTS,
        "kind": oracle.hashing.kind,
        "depth": oracle.hashing.depth,
        "width": oracle.hashing.width,
        "key": oracle.hashing.key.hex(),
        "key_type": container.type_to_text(oracle.key_type),
        "guarantees": [each.to_dict() for each in oracle.guarantees],
        "notes": list(oracle.notes),
        "partial": oracle.partial,
    }
    if oracle.merged:
        fields["merged"] = sorted(oracle.merged)
    if oracle.made is not None:
        fields["made"] = made_plain(oracle.made)
    return container.Contents(container.ORACLE, fields, {"cells": oracle.cells.ravel()})


def oracle_of(contents: container.Contents) -> Oracle:
    """Return the oracle of which this was written; raise ValueError if there is none."""
    fields = contents.fields
    hashing = RowHash(fields["kind"], fields["depth"], fields["width"], bytes.fromhex(fields["key"]))
    cells = contents.arrays["cells"]
    key_type = container.type_from_text(fields["key_type"])
    if cells.dtype != np.int64 or key_type is None:
        raise ValueError("cells")
    guarantees = list_from(fields["guarantees"], lambda each: guarantee_from(each, exact=False))
    notes, partial = texts_from(fields["notes"]), flag_from(fields["partial"])
    merged = frozenset(texts_from(fields.get("merged", [])))
    signed = cells.view(np.int64).reshape(hashing.depth, hashing.width)
    made = made_from(fields.get("made"))
    return Oracle(signed, hashing, key_type, guarantees, notes, partial, merged, made).checked()


def made_plain(made: Made | None) -> Plain:
    """Return how a release was made, null if that is not known."""
    if made is None:
        return None
    named: dict[str, Plain] = {} if made.id is None else {"id": made.id}
    return {name: getattr(made, name) for name in MADE} | named


def made_from(value: Plain) -> Made | None:
    """Return how a release was made, or raise."""
    if value is None:
        return None
    fields = fields_from({"id": None, **value} if isinstance(value, dict) else value, (*MADE, "id"))
    version, time = (text_from(fields[name]) for name in MADE[:2])
    source_name, options, recipe = fields["source_name"], fields["options"], fields["recipe"]
    if not isinstance(options, dict) or not isinstance(recipe, dict | None):
        raise ValueError("made")
    name, own = (None if each is None else text_from(each) for each in (source_name, fields["id"]))
    return Made(version, time, options, name, recipe, own)
