"""PipelineDP on one machine: numbers of users by key (an event is a user of its own), and keys alone."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pipeline_dp
from common import Asked, Published, serve
from pyarrow import parquet

Rows = list[tuple[Any, str]]


def published(found: Iterator[tuple[str, float]] | Iterator[str], mechanism: str, counted: bool) -> Published:
    """Return the pairs, or keys, as what every program writes."""
    rows = list(found)
    keys = [key for key, _ in rows] if counted else rows
    return Published(
        version("pipeline-dp"), mechanism, keys, [count for _, count in rows] if counted else None
    )


def rows_of(asked: Asked, user: bool) -> Rows:
    """Return (who, key) of each row."""
    table = parquet.read_table(asked.path, columns=["user", "key"] if user else ["key"])
    keys = table["key"].to_pylist()
    return list(zip(table["user"].to_pylist() if user else range(len(keys)), keys, strict=True))


def extractors() -> Any:
    """Say where the parts of a row are."""
    return pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: 0,
    )


def counted(asked: Asked, rows: Rows, most: int) -> Published:
    """Count users by key; the count itself is compared with the threshold, at no further cost."""
    budget = pipeline_dp.NaiveBudgetAccountant(asked.epsilon, asked.delta)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    gaussian = most > 3
    parameters = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT],
        noise_kind=pipeline_dp.NoiseKind.GAUSSIAN if gaussian else pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=most,
        max_contributions_per_partition=1,
        partition_selection_strategy=(
            pipeline_dp.PartitionSelectionStrategy.GAUSSIAN_THRESHOLDING
            if gaussian
            else pipeline_dp.PartitionSelectionStrategy.LAPLACE_THRESHOLDING
        ),
        post_aggregation_thresholding=True,
    )
    found = engine.aggregate(rows, parameters, extractors())
    budget.compute_budgets()
    pairs = ((key, metrics.privacy_id_count) for key, metrics in found)
    return published(pairs, f"{'Gaussian' if gaussian else 'Laplace'} threshold", counted=True)


def events(asked: Asked) -> Published:
    """Count rows by key."""
    return counted(asked, rows_of(asked, user=False), most=1)


def users(asked: Asked) -> Published:
    """Count users by key, at most max_keys keys each."""
    return counted(asked, rows_of(asked, user=True), asked.max_keys)


def keys(asked: Asked) -> Published:
    """Publish which keys there are."""
    budget = pipeline_dp.NaiveBudgetAccountant(asked.epsilon, asked.delta)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    parameters = pipeline_dp.SelectPartitionsParams(
        max_partitions_contributed=asked.max_keys,
        partition_selection_strategy=pipeline_dp.PartitionSelectionStrategy.GAUSSIAN_THRESHOLDING,
    )
    found = engine.select_partitions(rows_of(asked, user=True), parameters, extractors())
    budget.compute_budgets()
    return published(found, "Gaussian threshold", counted=False)


serve({"exact": events, "users": users, "keys": keys})
