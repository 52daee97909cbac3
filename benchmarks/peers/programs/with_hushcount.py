"""hushcount: every count on disk, the sketch, tables of users, keys without counts."""

from __future__ import annotations

from typing import Any

from common import Asked, Published, serve

import hushcount as hc

LOCAL_ITEMS = 1024


def published(release: Any, counted: bool = True) -> Published:
    """Return a release as what every program writes."""
    rows = release.table.to_pydict()
    counts = rows["count"] if counted else None
    return Published(hc.__version__, release.guarantee.mechanism, rows["key"], counts)


def exact(asked: Asked) -> Published:
    """Count every key on disk."""
    return published(hc.top(asked.path, column="key", epsilon=asked.epsilon, delta=asked.delta, exact=True))


def sketch(asked: Asked) -> Published:
    """Count in one pass by the default number of counters."""
    return published(hc.top(asked.path, column="key", epsilon=asked.epsilon, delta=asked.delta))


def users(asked: Asked) -> Published:
    """Count users by key, at most max_keys keys each."""
    budget = {"epsilon": asked.epsilon, "delta": asked.delta, "max_keys": asked.max_keys}
    return published(hc.top(asked.path, column="key", user="user", **budget))


def keys(asked: Asked) -> Published:
    """Publish which keys there are."""
    budget = {"epsilon": asked.epsilon, "delta": asked.delta}
    return published(hc.keys(asked.path, column="key", user="user", **budget), counted=False)


def local(asked: Asked) -> Published:
    """Report every row by a client of its own, and estimate every whole number below 1,024."""
    from pyarrow import parquet

    items = parquet.read_table(asked.path)["key"].to_pylist()
    campaign = hc.ldp.TreeHist(
        hc.ldp.Integers(LOCAL_ITEMS.bit_length() - 1), epsilon=asked.epsilon, users=len(items)
    )
    aggregator = campaign.aggregator()
    for item in items:
        aggregator.add([campaign.client().report(int(item))])
    names = list(range(LOCAL_ITEMS))
    estimates = hc.ldp.frequencies(aggregator, names).estimates.tolist()
    return Published(hc.__version__, "TreeHist of one level", list(map(str, names)), estimates)


serve({"exact": exact, "sketch": sketch, "users": users, "keys": keys, "local": local})
