"""Rows of a query: what a dataset of result rows adds up, and why one of events does not take them."""

import math
from itertools import product

import numpy as np

import hushcount as hc
from hushcount.audit import laws
from hushcount.audit.cases import noisy
from hushcount.mechanisms.histograms.laplace import LaplaceThreshold
from hushcount.privacy import Budget

BUDGET = Budget(1.0, 1e-4)
TRIPLED = "SELECT unnest([key, key, key]) AS key FROM 'events.parquet'"


def spent(moved, count):
    """The divergence of one count that changes by `moved`, both ways."""
    release = noisy(LaplaceThreshold(BUDGET))
    sides = {"x": count}, {"x": count - moved} if count > moved else {}
    return max(laws.independent(release, pair)[0] for pair in (sides, sides[::-1]))


def test_a_query_that_repeats_events_is_refuted_for_one_event():
    """Noise for one row: a row of the result is protected, an event that is there three times is not."""
    worst = max(spent(1, count) for count in range(1, 80))
    assert worst <= BUDGET.delta
    twin = max(spent(3, count) for count in range(3, 80))
    assert twin > 100 * BUDGET.delta


def test_one_row_of_each_of_two_queries_costs_the_sum():
    """Two results that each differ by one row, of keys near and far from the threshold: exact, both ways."""
    release = noisy(LaplaceThreshold(BUDGET))
    reach = range(1, release.threshold + 40)

    def law(count):
        shown = {
            count + z: float(release.law.pmf(z)) for z in range(-60, 61) if count + z >= release.threshold
        }
        return shown | {None: 1 - math.fsum(shown.values())} if count else {None: 1.0}

    for first, second in product((1, 2, release.threshold, reach[-1]), repeat=2):
        for step in ((0, -1), (-1, 0)):
            sides = []
            for change in step:
                one, other = law(first + change), law(second + change)
                sides.append({pair: one[pair[0]] * other[pair[1]] for pair in product(one, other)})
            outputs = list(sides[0] | sides[1])
            p, q = (np.array([side.get(output, 0.0) for output in outputs]) for side in sides)
            p, q = p[(p > 1e-12) | (q > 1e-12)], q[(p > 1e-12) | (q > 1e-12)]
            assert np.maximum(p - math.exp(2.0 + 1e-6) * q, 0).sum() <= 2 * BUDGET.delta


def test_releases_of_queries_are_charged_and_answered_again(tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"key": ["tea"] * 900, "day": ["2026-11-15"] * 900}), "events.parquet")
    book = hc.Ledger("spent.db")
    book.init("results", epsilon=1, delta="1e-6", unit="result-row")
    asked = {"epsilon": 0.4, "delta": 1e-7, "ledger": "spent.db", "dataset": "results"}
    first = hc.top(sql=TRIPLED, column="key", **asked)
    again = hc.top(sql=TRIPLED, column="key", **asked)
    assert again.table.equals(first.table)
    hc.top(sql="SELECT key FROM 'events.parquet'", column="key", **asked)
    assert book.show("results")[0]["spent"]["epsilon"] == "0.8"
    assert book.show("results")[0]["protects"] == "one row of the result of each query"
    assert hc.verify(first.to_json().encode(), ledger="spent.db").holds
    assert book.verify() == []
