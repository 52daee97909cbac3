"""The files of a feed: `feed.json` says what it is, and each period has one Parquet file.

A file is a function of the rows that were published: they are sorted by key, and no metadata tell of more.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hushcount.errors import DataError, ParameterError
from hushcount.files.atomic import PathLike, atomic_file, unwritable
from hushcount.jobs.watch.terms import WatchTerms
from hushcount.mechanisms.continual.gate import claim_for

ABOUT = "feed.json"
ENDING = ".parquet"
INSTANT = pa.timestamp("us", "UTC")
KEYS = {"text": pa.string(), "int": pa.int64()}
FORMAT = 1


class FeedWriter:
    """Writes the files of a feed.

    Parameters
    ----------
    folder : path
        The folder, which is made if there is none.
    terms : WatchTerms
        The watch, whose feed nothing else may be.
    """

    def __init__(self, folder: PathLike, terms: WatchTerms) -> None:
        self._folder, self._terms = Path(folder), terms
        try:
            self._folder.mkdir(exist_ok=True)
        except OSError as error:
            raise unwritable(folder, error) from None
        about = described(terms)
        if not (self._folder / ABOUT).exists():
            with atomic_file(self._folder / ABOUT, told=False) as stream:
                stream.write((json.dumps(about, indent=1) + "\n").encode())
        if read_about(folder) != about:
            raise ParameterError(f"{folder} is the feed of another watch; name another folder.")

    def missing(self, closed: int) -> list[int]:
        """Return the places of closed periods that have no file."""
        there = set(os.listdir(self._folder))
        return [place for place in range(closed) if file_name(self._terms, place) not in there]

    def write(self, place: int, rows: pa.Table) -> None:
        """Write the file of a period."""
        table = published(self._terms, rows)
        with atomic_file(self._folder / file_name(self._terms, place), told=False) as stream:
            pq.write_table(table, stream)


def file_name(terms: WatchTerms, place: int) -> str:
    """Return the name of the file of a period."""
    return terms.calendar.name(place) + ENDING


def described(terms: WatchTerms) -> dict[str, object]:
    """Return what `feed.json` says: terms, guarantee and columns."""
    watching, claim = terms.watching, claim_for(terms.protected)
    public = json.loads(json.dumps(terms.public))
    return {
        "hushcount": FORMAT,
        "kind": "feed",
        "terms": public,
        "guarantee": {
            "unit": terms.unit,
            "epsilon": terms.epsilon,
            "delta": terms.delta,
            "statement": claim.theorem,
            "assumes": [*claim.assumptions, *terms.bounds],
            "threshold": watching.gate.tau,
        },
        "columns": {field.name: str(field.type) for field in schema(terms)},
    }


def read_about(folder: PathLike) -> dict[str, object]:
    """Return what `feed.json` in a folder says, or raise."""
    try:
        about = json.loads(Path(folder, ABOUT).read_bytes())
    except FileNotFoundError:
        raise DataError(f"There is no feed in {folder}: it has no {ABOUT}.") from None
    except (OSError, ValueError):
        about = None
    if not isinstance(about, dict) or about.get("kind") != "feed":
        raise DataError(f"{Path(folder, ABOUT)} does not describe a feed.")
    if about.get("hushcount") != FORMAT:
        raise DataError(
            f"{Path(folder, ABOUT)} was written by a newer version of hushcount; update hushcount."
        )
    return about


def schema(terms: WatchTerms) -> pa.Schema:
    """Return the columns of the files."""
    fields = [(name, KEYS[terms.key_type]) for name in terms.key_names]
    return pa.schema(
        [
            *fields,
            ("kind", pa.string()),
            ("level", pa.string()),
            ("start", INSTANT),
            ("end", INSTANT),
            ("value", pa.int64()),
            ("partial", pa.bool_()),
        ]
    )


def published(terms: WatchTerms, rows: pa.Table) -> pa.Table:
    """Return the rows of a period with times and names of levels in place of numbers."""
    calendar = terms.calendar

    def instants(column: str) -> pa.ChunkedArray:
        return pc.add(pc.multiply(rows[column], calendar.period), calendar.start).cast(INSTANT)

    keys = [rows[f"k{place}"] for place in range(len(terms.key_names))]
    levels = pa.array(calendar.levels, pa.string()).take(rows["level"].combine_chunks())
    columns = [
        *keys,
        rows["kind"],
        levels,
        instants("start"),
        instants("stop"),
        rows["value"],
        rows["partial"],
    ]
    named = pa.table(columns, schema(terms).names)
    return named.cast(schema(terms))
