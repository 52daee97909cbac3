"""Seeded noise: the same release each time, marked NOT PRIVATE wherever it is shown."""

import json
import threading

import hushcount as hc
from hushcount.releases.views.page import Screen, page_of
from hushcount.secure import is_seeded
from hushcount.testing import SeededBits

KEYS = ["tea"] * 500 + ["milk"] * 300
MARK = "NOT PRIVATE"


def made(seed):
    with hc.testing.seeded(seed):
        return hc.top(KEYS, epsilon=1.0, delta=1e-6)


def test_the_same_seed_gives_the_same_release():
    assert made(7).table.equals(made(7).table)
    assert {made(seed).counts.to_pylist()[0] for seed in range(12)} != {made(7).counts.to_pylist()[0]}


def test_oracles_have_the_same_hash_and_cells_too():
    with hc.testing.seeded(1):
        one = hc.oracle(KEYS, epsilon=1.0, delta=1e-6, kind="count-sketch")
    with hc.testing.seeded(1):
        other = hc.oracle(KEYS, epsilon=1.0, delta=1e-6, kind="count-sketch")
    assert one.estimate(["tea", "rice"]).equals(other.estimate(["tea", "rice"]))


def test_it_says_that_it_is_not_private_in_table_text_and_json():
    release = made(3)
    page = page_of(release, Screen("table", False, 100))
    assert MARK in page.headline
    assert any(MARK in sentence for _, sentences in page.groups for sentence in sentences)
    assert MARK in release.guarantee.statement()
    assert MARK in str(release)
    assert MARK in repr(release)
    assert MARK in json.loads(release.to_json())["guarantee"]["protects"]


def test_users_are_marked_too_and_nothing_is_outside_the_block():
    with hc.testing.seeded(3):
        table = {"user": list(range(400)), "key": ["tea"] * 400}
        import pyarrow as pa

        users = hc.top(pa.table(table), column="key", user="user", max_keys=1, epsilon=1.0, delta=1e-6)
    assert MARK in users.guarantee.statement()
    assert not is_seeded()
    assert MARK not in hc.top(KEYS, epsilon=1.0, delta=1e-6).to_json()


def test_other_threads_keep_the_secure_generator():
    seen = []
    with hc.testing.seeded(3):
        thread = threading.Thread(target=lambda: seen.append(is_seeded()))
        thread.start()
        thread.join()
        assert is_seeded()
    assert seen == [False]


def test_bytes_go_on_and_differ_by_seed():
    bits = SeededBits(5)
    first, second = bits.bytes(8), bits.bytes(8)
    assert first != second
    assert SeededBits(5).bytes(8) == first != SeededBits(6).bytes(8)
    assert SeededBits(5).words(4).dtype == "uint64"
