"""Where the keys of a sketch file come from, kept in the file itself."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from hushcount.errors import SketchFileError
from hushcount.files.container import Fields
from hushcount.keys.columns import KeyColumns
from hushcount.privacy import EVENT, RESULT_ROW, STREAM_ROW, PrivacyUnit

if TYPE_CHECKING:
    from hushcount.sources.source import Source

UNITS = {unit.name: unit for unit in (EVENT, RESULT_ROW, STREAM_ROW)}
NO_COLUMNS = KeyColumns.of(None, "auto")


@dataclass(frozen=True, slots=True)
class Origin:
    """The key columns, the privacy unit and the public notes of a source."""

    columns: KeyColumns
    unit: PrivacyUnit
    notes: tuple[str, ...]

    @classmethod
    def of(cls, source: Source) -> Origin:
        """The origin of keys that this source gives."""
        return cls(source.columns, source.unit, source.notes)

    def decode(self, keys: pa.Array) -> pa.Table:
        """Turn keys back into their columns."""
        return self.columns.decode(keys)

    def to_dict(self) -> Fields:
        """Plain values for a sketch file."""
        columns = self.columns
        schema = pa.schema([(str(index), kind) for index, kind in enumerate(columns.types)])
        return {
            "names": list(columns.names),
            "key_names": list(columns.key_names),
            "key_type": columns.key_type,
            "inferred": list(columns.inferred),
            "types": base64.b64encode(schema.serialize().to_pybytes()).decode(),
            "unit": self.unit.name,
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, values: Fields) -> Origin:
        """The origin that `to_dict` described."""
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(values["types"])))
        columns = KeyColumns(
            tuple(values["names"]),
            tuple(values["key_names"]),
            values["key_type"],
            tuple(schema.types),
            inferred=tuple(values.get("inferred", ())),
        )
        return cls(columns, UNITS[values["unit"]], tuple(values["notes"]))


@dataclass(frozen=True, slots=True)
class Position:
    """How far a sketch has read its source; `finished` when it has read all of it."""

    rows: int
    finished: bool
    fingerprint: str
    state: Mapping[str, str]
    origin: Origin

    def to_dict(self) -> Fields:
        """Plain values for a sketch file."""
        return {
            "rows": self.rows,
            "finished": self.finished,
            "fingerprint": self.fingerprint,
            "state": dict(self.state),
            "origin": self.origin.to_dict(),
        }

    @classmethod
    def from_dict(cls, values: Fields, name: str) -> Position:
        """The position that `to_dict` described."""
        try:
            origin = Origin.from_dict(values["origin"])
            return cls(values["rows"], values["finished"], values["fingerprint"], values["state"], origin)
        except (KeyError, TypeError, ValueError, pa.ArrowException):
            failure = SketchFileError(f"{name} has a position that this version cannot read.")
        raise failure


NOWHERE = Origin(NO_COLUMNS, EVENT, ())
