"""Feeds made from rows, without any state, for tests of what reads them."""

import pyarrow as pa

from hushcount.jobs.watch.feed_files import FeedWriter
from hushcount.jobs.watch.terms import WatchTerms


def made_feed(folder, rows, **terms):
    """Write a feed: for each period rows of the columns of a key, kind, level, start and value."""
    asked = {"levels": ("1h",), "column": ("url",)} | terms
    written = WatchTerms("1h", "2026-10-01", "2026-10-31", 1.0, 1e-8, "", "site", **asked)
    writer = FeedWriter(folder, written)
    columns = [f"k{place}" for place in range(len(written.key_names))]
    schema = pa.schema(
        [
            *((name, pa.string()) for name in columns),
            ("kind", pa.string()),
            ("level", pa.int64()),
            ("start", pa.int64()),
            ("value", pa.int64()),
            ("stop", pa.int64()),
            ("partial", pa.bool_()),
        ]
    )
    for place, published in rows.items():
        whole = [dict(zip(schema.names, (*row, place + 1, False), strict=True)) for row in published]
        writer.write(place, pa.Table.from_pylist(whole, schema))
    return written
