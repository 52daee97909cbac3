"""OpenDP: its queries of polars, which publish the groups whose noisy count reaches a threshold."""

from __future__ import annotations

import warnings
from importlib.metadata import version
from typing import Any

import opendp.prelude as dp
import polars as pl
from common import Asked, Published, serve

dp.enable_features("contrib")
warnings.simplefilter("ignore", FutureWarning)


def context(asked: Asked, unit: tuple) -> Any:
    """Return a context with the whole budget for one query."""
    loss = dp.loss_of(epsilon=asked.epsilon, delta=asked.delta)
    return dp.Context.compositor(
        data=pl.scan_parquet(asked.path), privacy_unit=unit, privacy_loss=loss, split_evenly_over=1
    )


def published(frame: Any) -> Published:
    """Return the frame as what every program writes."""
    return Published(version("opendp"), "Laplace threshold", frame["key"].to_list(), frame["len"].to_list())


def events(asked: Asked) -> Published:
    """Count rows by key."""
    query = context(asked, dp.unit_of(contributions=1)).query().group_by("key").agg(dp.len())
    return published(query.release().collect())


def users(asked: Asked) -> Published:
    """Count users by key: one row of each key, and max_keys keys, of each user."""
    unit = dp.unit_of(contributions=1, identifier="user")
    rows = context(asked, unit).query().truncate_per_group(1, by=["key"])
    # The default choice of groups fails in this version: "multiple fields with name 'key'".
    rows = rows.truncate_num_groups(asked.max_keys, by=["key"], keep="first")
    return published(rows.group_by("key").agg(dp.len()).release().collect())


serve({"exact": events, "users": users})
