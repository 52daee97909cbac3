"""A Python model of dbt-duckdb: models/top_pages.py, made of the model visits."""

import hushcount as hc


def model(dbt, session):
    """Publish the most frequent pages of a day."""
    dbt.config(materialized="table")
    day = str(dbt.config.get("day"))  # in models/schema.yml; each day is paid once, however often dbt runs
    paid = {"ledger": "spent.db", "dataset": "visits", "run_id": f"pages-{day}"}
    return hc.top(dbt.ref("visits"), column="page", epsilon=0.1, delta=1e-9, **paid).table
