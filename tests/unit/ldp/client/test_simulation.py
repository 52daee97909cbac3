"""A file of items as reports: their order says nothing about who has none."""

import numpy as np
import pyarrow as pa
from tests.seeded_bits import SeededBits

from hushcount.ldp.client.simulation import REPORT, Population
from hushcount.ldp.wire.encodings import Categories
from hushcount.ldp.wire.groups import ALL_SHARES, Group
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.questions import Prefix

NEVER = 253_402_300_799
ROWS = 4000


def symbols(items, seed):
    group = Group("20", 1, (Prefix(1, 1, 1),), (ALL_SHARES,))  # tells nearly the truth
    manifest = Manifest("tree_hist", Categories(("x", "y")), "20", (group,), ROWS, NEVER, {}, bytes(32))
    people = Population.of(pa.array(items, pa.string()))
    reports = np.frombuffer(b"".join(people.reports(manifest, SeededBits(seed))), REPORT)
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
