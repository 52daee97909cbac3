"""Releases as rows of a database: which types their columns have, and what stands in the second relation."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types

from hushcount.releases.release import Release
from hushcount.releases.stored.documents import about
from hushcount.releases.stored.exact import canonical, digest
from hushcount.releases.tree import TreeRelease
from hushcount.releases.writers import with_texts
from hushcount.stores.results import Rows


def rows_of(release: Release | TreeRelease) -> Rows:
    """Return what is written of a release; its name is the one by which its copies are recognised."""
    values = about(release)
    name = release.made.id if release.made is not None and release.made.id else digest(values)
    promise = release.guarantee
    line = (promise.unit.name, promise.epsilon, promise.delta, canonical(values).decode())
    kinds = tuple(sql_type(field.type) for field in release.table.schema)
    return Rows(name, with_texts(release.table), kinds, line)


def sql_type(kind: pa.DataType) -> str:
    """Return the type that a column of a relation gets: text for all that databases do not share.

    >>> sql_type(pa.int32()), sql_type(pa.date32()), sql_type(pa.binary())
    ('BIGINT', 'DATE', 'TEXT')
    """
    if types.is_integer(kind):
        return "DECIMAL(20)" if kind == pa.uint64() else "BIGINT"
    if types.is_floating(kind):
        return "DOUBLE PRECISION"
    if types.is_boolean(kind):
        return "BOOLEAN"
    if types.is_date(kind):
        return "DATE"
    if types.is_timestamp(kind) and kind.unit != "ns":
        return "TIMESTAMP" if kind.tz is None else "TIMESTAMP WITH TIME ZONE"
    return "TEXT"
