"""`hc.oracle`: every kind of data, sketches with deletions, merging, refusals (whole texts)."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.errors import DataError, NotProvedError, ParameterError
from hushcount.jobs.linear.oracle_files import merge_oracles

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
KEYS = ["tea"] * 900 + ["milk"] * 600 + [f"rare{i}" for i in range(50)]


def refusal(*data, kind=ParameterError, **options):
    with pytest.raises(kind) as caught:
        hc.oracle(*data, **{**BUDGET, **options})
    return str(caught.value)


@pytest.mark.parametrize("data", [KEYS, iter(KEYS), np.array(KEYS), pd.Series(KEYS), pa.array(KEYS)])
def test_data(data):
    oracle = hc.oracle(data, width=8192, **BUDGET)
    table = oracle.estimate(["milk", "tea", "salt"])
    assert table["count"].to_pylist() == pytest.approx([600, 900, 0], abs=100)
    assert oracle.guarantee.mechanism == "noisy cells of CountSketch"
    assert (oracle.hashing.depth, oracle.hashing.width) == (5, 8192)
    assert oracle.notes == ("Null keys are dropped.", "Keys longer than 4096 bytes are dropped.")


def test_a_column_and_a_file(tmp_path):
    frame = pd.DataFrame({"n": np.repeat([7, 8], 500), "other": "x"})
    oracle = hc.oracle(frame, column="n", kind="count-min", epsilon=1.0, output=tmp_path / "o.hc")
    assert (oracle.guarantee.epsilon, oracle.guarantee.delta) == (1.0, 0.0)
    again = hc.Oracle.load(tmp_path / "o.hc")
    assert again.estimate(np.array([7], np.int32))["count"].to_pylist() == pytest.approx([500], abs=200)
    assert again.key_type == pa.int64()
    assert hc.oracle(sql="SELECT 'a' AS k", **BUDGET).guarantee.unit.name == "row of the SQL result"


def test_no_events():
    assert hc.oracle(pa.array([], pa.int32()), width=64, **BUDGET).key_type == pa.int32()


def test_a_sketch_with_deletions():
    sketch = hc.CountSketch(depth=5, width=8192, max_weight=1)
    sketch.update(KEYS)
    sketch.update(["tea"] * 900, weights=np.full(900, -1))
    table = hc.oracle(sketch, **BUDGET).estimate(["tea", "milk"])
    assert table["count"].to_pylist() == pytest.approx([0, 600], abs=100)
    text = "a sketch has its own kind, size, hash key and keys; give only the budget."
    assert refusal(sketch, depth=5) == text
    assert refusal(sketch, column="a") == text
    text = "noisy cells need a public bound on weights; make the sketch with max_weight=1 (or more)."
    unbounded = hc.CountMin()
    unbounded.update(["a"])
    assert refusal(unbounded, kind=NotProvedError) == text


def test_deleting_before_adding_is_no_matter_of_a_private_release():
    part = hc.CountMin(max_weight=1, partial=True)
    part.update(["a"], weights=[-1])
    oracle = hc.oracle(part, epsilon=1.0)
    assert oracle.partial
    assert oracle.estimate(["b"]).num_rows == 1


@pytest.mark.parametrize("keys", [[5], [], [None]])
def test_the_type_of_the_keys_does_not_show_whether_there_were_any(keys):
    """A type that is known beforehand is the type; else there is no release of no keys."""
    assert hc.oracle(keys, key_type="int", width=64, **BUDGET).key_type == pa.int64()
    assert hc.oracle(pa.array(keys, pa.int32()), width=64, **BUDGET).key_type == pa.int32()
    sketch = hc.CountMin(max_weight=1)
    sketch.update(keys)
    if keys == [5]:
        assert hc.oracle(sketch, **BUDGET).key_type == hc.oracle(keys, **BUDGET).key_type == pa.int64()
        return
    text = (
        "There are no keys, so their type is not known and nothing was released;"
        " this message itself reveals that, outside the guarantee."
    )
    assert refusal(keys, kind=DataError) == refusal(sketch, kind=DataError) == text


def test_oracles_made_alike_merge(tmp_path):
    first = hc.oracle(KEYS, width=8192, output=tmp_path / "a.hc", **BUDGET)
    second = hc.oracle(KEYS, like=tmp_path / "a.hc", output=tmp_path / "b.hc", **BUDGET)
    third = hc.oracle(KEYS, like=first, **BUDGET)
    assert first.hashing == second.hashing == third.hashing
    assert (first.cells != second.cells).any()
    both = merge_oracles([tmp_path / "a.hc", tmp_path / "b.hc"])
    assert replace(both, made=None).to_bytes() == replace(first.merge(second), made=None).to_bytes()
    assert both.estimate(["tea"])["count"].to_pylist() == pytest.approx([1800], abs=150)
    with pytest.raises(ParameterError, match=r"^merge needs at least two oracles\.$"):
        merge_oracles([tmp_path / "a.hc"])


def test_hash_keys_are_fresh():
    assert (
        hc.oracle(["a"], width=64, **BUDGET).hashing.key != hc.oracle(["a"], width=64, **BUDGET).hashing.key
    )


def test_refusals(tmp_path):
    assert refusal(KEYS, delta=None) == "delta must be given for count-sketch; count-min needs none."
    with pytest.raises(ParameterError) as caught:
        hc.oracle(KEYS, kind="bloom", **BUDGET)
    assert str(caught.value) == "kind must be one of count-min, count-sketch, got bloom."
    assert refusal(KEYS, column=["a", "b"]) == "column must be one name for an oracle."
    assert refusal(KEYS, width=1000) == "width must be a power of two up to 67108864, got 1000."
    assert refusal(KEYS, epsilon=0) == "epsilon must be a finite number above 0, got 0."
    oracle = hc.oracle(["a"], width=64, **BUDGET)
    text = "like gives kind, depth and width; give one or the other."
    assert refusal(KEYS, like=oracle, width=64) == text
    text = f"Cannot write {tmp_path}/no/o.hc: the folder {tmp_path}/no does not exist."
    assert refusal(KEYS, kind=DataError, output=tmp_path / "no" / "o.hc") == text


def test_top_by_an_envelope():
    rng = np.random.default_rng(1)
    keys = rng.permutation(np.concatenate([np.zeros(9000, int), np.arange(1, 3000)]))
    release = hc.top(
        keys, mechanism="count-min-envelope", max_events=20_000, counters=256, epsilon=1.0, delta=1e-6
    )
    assert release.keys["key"].to_pylist() == [0]
    assert "so the envelope is worse here" in release.notes[1]
    with pytest.raises(ParameterError) as caught:
        hc.top(keys, mechanism="count-sketch-envelope", epsilon=1.0, delta=1e-6)
    assert str(caught.value) == "count-sketch-envelope needs max_events, a public bound, got None."
    with pytest.raises(DataError) as caught:
        hc.top(keys, mechanism="count-sketch-envelope", max_events=100, counters=4, epsilon=1.0, delta=1e-6)
    assert str(caught.value) == (
        "The data hold more than max_events = 100 events, so nothing was released;"
        " this message itself reveals that, outside the guarantee."
    )


VISITS = pa.table(
    {
        "user": [user for user in range(3000) for _ in range(2)] + [None, 1],
        "page": [f"page {user % 3 + more}" for user in range(3000) for more in range(2)] + ["page 0", None],
    }
)
USERS = {"column": "page", "user": "user", "max_keys": 2, "width": 256}


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_users_are_counted_and_protected(delta, tmp_path):
    oracle = hc.oracle(VISITS, epsilon=1.0, delta=delta, output=tmp_path / "o.hc", **USERS)
    assert oracle.guarantee.unit.name == "user"
    assert oracle.guarantee.mechanism == "noisy cells of Count-Min, each user once per cell"
    assert (oracle.guarantee.delta == 0) == (delta is None)
    assert ("sigma" in oracle.guarantee.parameters) == (delta is not None)
    table = oracle.estimate(["page 0", "page 1", "page 3", "nobody"], confidence=1 - 1e-9).to_pylist()
    for row, truth in zip(table, [1000, 2000, 1000, 0], strict=True):
        assert row["lower"] <= truth <= row["upper"]
    again = hc.Oracle.load(tmp_path / "o.hc")
    assert again.interval() == oracle.interval()
    assert hc.verify(oracle.to_json().encode()).holds
    assert oracle.notes[2:4] == (
        "Of each user at most 2 different keys, each once, are kept, picked by a keyed hash of user and key.",
        "count is a number of users. A user with several keys in one cell counts once there.",
    )


def test_oracles_of_users_add_up_if_nobody_is_in_two():
    first = hc.oracle(VISITS, epsilon=1.0, **USERS)
    like = {name: value for name, value in USERS.items() if name != "width"}
    both = first.merge(hc.oracle(VISITS, epsilon=1.0, like=first, **like))
    assert both.guarantee.assumptions[-1] == "no user is in more than one of the merged oracles"
    (row,) = both.estimate(["page 1"], confidence=1 - 1e-9).to_pylist()
    assert row["lower"] <= 4000 <= row["upper"]
    assert both.interval()[1] > first.interval()[1]
    with pytest.raises(ParameterError, match="same privacy unit, got user and event"):
        first.merge(hc.oracle(["page 1"], epsilon=1.0, like=first))
    signed = hc.oracle(["page 1"], epsilon=1.0, delta=1e-6, width=256)
    with pytest.raises(ParameterError, match="kind must be count-min with user"):
        hc.oracle(VISITS, epsilon=1.0, delta=1e-6, like=signed, **like)


def test_users_that_an_oracle_cannot_use():
    for more, text in {
        "max_keys": "max_keys must be at least 1, got 0.",
        "user": "user must be another column than the keys, got page.",
    }.items():
        with pytest.raises(ParameterError) as caught:
            hc.oracle(VISITS, epsilon=1.0, **USERS | {more: 0 if more == "max_keys" else "page"})
        assert str(caught.value) == text
    with pytest.raises(ParameterError, match="a sketch has its own kind, size, hash key and keys"):
        hc.oracle(hc.CountMin(max_weight=1), epsilon=1.0, user="user", max_keys=2)
