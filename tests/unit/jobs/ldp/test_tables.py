"""Tables of items are read a batch at a time; every row, or every user, gives one report."""

from types import SimpleNamespace

import pyarrow as pa
import pytest

from hushcount.jobs.ldp.tables import _users, randomise
from hushcount.jobs.request import Request
from hushcount.ldp import Categories, Integers, TreeHist
from hushcount.ldp.client.simulation import NO_ITEM


class Table:
    """A source of three batches that says how many of them were read."""

    size = None

    def __init__(self):
        self.read = 0

    def batches(self):
        for keys in (["7", "x"], ["7"], []):
            self.read += 1
            yield SimpleNamespace(keys=pa.array(keys, pa.string()), rows=len(keys) + 1, bytes_read=0)


def test_users_come_batch_by_batch():
    table = Table()
    request = SimpleNamespace(column="n", user=None, open=lambda: table)
    users = _users(request, Integers(8), 1, None)
    first = next(users)
    assert table.read == 1
    assert (first.items, first.held.tolist()) == ([7, "x"], [0, 1])
    assert next(users).held.tolist() == [NO_ITEM]  # the null of the first batch
    assert table.read == 1
    rest = list(users)
    assert table.read == 3
    assert sum(len(part.held) for part in rest) == 3


@pytest.mark.parametrize(
    ("item", "number"),
    [("7", 7), (" 7\t", 7), ("+7", 7), ("-7", -7), ("007", 7), ("7.0", "7.0"), ("", ""), ("٧", "٧")],
)
def test_text_becomes_a_number_if_it_is_one(item, number):
    batch = SimpleNamespace(keys=pa.array([item]), rows=1, bytes_read=0)
    source = SimpleNamespace(batches=lambda: iter([batch]), size=None)
    request = SimpleNamespace(column="n", user=None, open=lambda: source)
    assert next(_users(request, Integers(8), 1, None)).items == [number]
    assert next(_users(request, Categories(("a", "b")), 1, None)).items == [item]


def test_items_longer_than_a_key_may_be_give_a_report(tmp_path):
    manifest, output = tmp_path / "m.json", tmp_path / "r.bin"
    TreeHist(Categories(("tea", "milk")), epsilon=2.0, users=10).manifest.save(manifest)
    data = pa.table({"word": ["tea", "x" * 5000, None, "é" * 2049]})
    _, number = randomise(str(manifest), Request(data, "word"), str(output))
    assert (number, output.stat().st_size) == (4, 4 * 27)
