"""A table of items as reports, whose order says nothing about the rows; and a simulation's scores."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
from tests.seeded_bits import SeededBits

from hushcount.ldp.client.simulation import Comparison, HeldItems, Population, ReportPool
from hushcount.ldp.wire.encodings import Categories
from hushcount.ldp.wire.groups import ALL_SHARES, Group
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.questions import Prefix

NEVER = 253_402_300_799
ROWS = 4000
REPORT = np.dtype([("header", "V9"), ("nonce", "V16"), ("symbols", "<u2")])


def symbols(items, seed):
    group = Group("20", 1, (Prefix(1, 1, 1),), (ALL_SHARES,))  # tells nearly the truth
    manifest = Manifest("tree_hist", Categories(("x", "y")), "20", (group,), ROWS, NEVER, {}, bytes(32))
    pool = ReportPool(manifest, SeededBits(seed))
    for start in range(0, len(items), 700):  # as batches of a table come
        pool.add(HeldItems.of(pa.array(items[start : start + 700], pa.string())))
    reports = np.frombuffer(b"".join(pool.shuffled()), REPORT)
    return reports["symbols"], len(np.unique(reports["nonce"]))


def test_the_order_of_the_reports_is_not_that_of_the_rows():
    """Rows of y come first, where a truthful parity is a coin; rows of x, always 0, come last."""
    answers, nonces = symbols(["y"] * (ROWS // 2) + ["x"] * (ROWS // 2), seed=3)
    first, last = answers[: ROWS // 2].mean(), answers[ROWS // 2 :].mean()
    assert nonces == ROWS
    assert abs(first - last) < 0.06  # about six deviations; in the order of the rows it is 0.5
    assert 0.2 < answers.mean() < 0.3


def test_those_without_an_item_are_anywhere():
    answers, _ = symbols(["x"] * (ROWS // 2) + [None] * (ROWS // 2), seed=4)
    assert abs(answers[: ROWS // 2].mean() - answers[ROWS // 2 :].mean()) < 0.06


def test_the_order_does_not_follow_the_batches():
    """Batches are kept apart until the end: an early batch must not come out early."""
    first, last = [], []
    for seed in range(20):
        answers, _ = symbols(["y"] * (ROWS // 2) + ["x"] * (ROWS // 2), seed)
        first.append(answers[:700].mean())
        last.append(answers[-700:].mean())
    assert abs(np.mean(first) - np.mean(last)) < 0.03


def test_a_population_counts_what_can_be_encoded():
    people = Population(Categories(("x", "y")))
    people.add(HeldItems.of(pa.array(["x", "z", None, "x"])))
    people.add(HeldItems.of(pa.array(["y", "x"]).dictionary_encode()))
    people.add(HeldItems.without(3))
    assert len(people) == 9
    assert people.true_counts() == {"x": 3, "y": 1}
    everybody = people.held_items()
    assert (everybody.items, everybody.held.tolist()) == (["x", "y"], [0, -1, -1, 0, 1, 0, -1, -1, -1])


def test_scores_of_nothing_are_none():
    release = SimpleNamespace(table=pa.table({"key": [], "count": [], "lower": [], "upper": []}))
    assert Comparison.of(release, {"x": 5}, 9) == Comparison(None, None, 0, None, ())
    assert Comparison.of(release, {"x": 5}, 5) == Comparison(None, 0.0, 1, None, ())
