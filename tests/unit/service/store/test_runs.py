"""Sorted runs against a plain set."""

import numpy as np
import pytest

from hushcount.service.store import runs
from hushcount.service.store.runs import Runs, in_order, names_of


def names(values):
    return names_of(b"".join(value.to_bytes(16, "big") for value in values))


@pytest.mark.parametrize("bits", [4, 8, 128])
def test_runs_are_a_set(bits):
    generator = np.random.default_rng(bits)
    found, expected = Runs(), set()
    for _ in range(200):
        wanted = sorted(
            int.from_bytes(generator.bytes(16), "big") >> (128 - bits)
            for _ in range(generator.integers(0, 30))
        )
        fresh = found.fresh(names(wanted))
        first = {value: place for place, value in reversed(list(enumerate(wanted)))}
        assert fresh.tolist() == [
            value not in expected and first[value] == place for place, value in enumerate(wanted)
        ]
        found.add(names(wanted)[fresh])
        expected |= set(wanted)
        assert len(found) == len(expected)
    assert len(found._runs) <= 12


def test_order_is_that_of_the_bytes():
    octets = [bytes(np.random.default_rng(7).bytes(16)) for _ in range(100)]
    order = in_order(names_of(b"".join(octets)))
    assert [octets[place] for place in order] == sorted(octets)


def test_long_runs_lie_in_files_and_a_full_disk_leaves_them_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "_IN_MEMORY", 10)
    found = Runs(str(tmp_path))
    for start in range(0, 400, 20):
        found.add(names(range(start, start + 20)))
    assert len(found._runs) < 5
    assert not list(tmp_path.iterdir()), "the files have no name"

    def full(*_):
        raise OSError("no room")

    monkeypatch.setattr(runs.os, "posix_fallocate", full)
    for start in range(400, 480, 20):
        found.add(names(range(start, start + 20)))
    assert found.fresh(names(range(500))).tolist() == [False] * 480 + [True] * 20
