"""The frequency oracle: noise on every cell, answers, intervals, files, merging, refusals (whole texts)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.errors import KeyTypeError, NotProvedError, ParameterError, SketchFileError
from hushcount.files.container import encode, type_to_text
from hushcount.jobs.oracle import oracle_budget
from hushcount.keys.row_hash import RowHash
from hushcount.mechanisms.linear.cells import NoisyCells
from hushcount.privacy import RESULT_ROW
from hushcount.releases.oracle import CONTENTS, Oracle
from hushcount.releases.oracle_intervals import at_least_half_of, oracle_interval
from hushcount.releases.stored.oracles import contents_of
from hushcount.sketches.counters import SpaceSaving
from hushcount.sketches.kinds import load
from hushcount.sketches.linear import CountMin, CountSketch, at_least_half

FILES = Path(__file__).parents[2] / "vectors" / "files"
KINDS = [CountMin, CountSketch]
TOO_LARGE = (
    "The cells of an oracle must be 64-bit integers from -2^61 to 2^61, depth rows of width cells; sums of"
    " larger ones would not fit in 64 bits."
)
BOTH = pytest.mark.parametrize("kind", KINDS)


def refusal(error: type[Exception], call: Any) -> str:
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def made(kind: Any, seed: int = 1, key: Any = 5, **budget: float) -> Oracle:
    sketch = kind(depth=5, width=1024, seed=key, max_weight=1)
    sketch.update(["tea"] * 500 + ["milk"] * 300 + [f"key{i}" for i in range(200)])
    spent = oracle_budget(**({"epsilon": 1.0, "delta": 1e-6} | budget))
    return NoisyCells(spent).release(sketch.shape(), SeededBits(seed))


@BOTH
def test_every_cell_has_its_own_noise(kind: Any) -> None:
    sketch = kind(depth=5, width=1024, seed=1, max_weight=2)
    sketch.update(np.arange(1000), weights=np.full(1000, 2))
    noisy = NoisyCells(oracle_budget(1.0, 1e-6))
    oracle = noisy.release(sketch.shape(), SeededBits(3))
    noise = noisy.noise(oracle.hashing.kind, 5, 2).sample(5 * 1024, SeededBits(3)).reshape(5, 1024)
    assert (oracle.cells == sketch.shape().cells + noise).all()
    assert len(np.unique(noise)) > 10
    promise = oracle.guarantee
    assert (promise.epsilon, promise.delta) == (1.0, 1e-6 if kind is CountSketch else 0.0)
    assert promise.parameters["max_weight"] == 2
    assert promise.proof == "docs/proofs/linear/cells.md"


@BOTH
def test_answers(kind: Any) -> None:
    table = made(kind).estimate(["tea", "nobody", "milk", "tea"])
    assert table.column_names == ["key", "count", "lower", "upper"]
    assert table["key"].to_pylist() == ["tea", "nobody", "milk", "tea"]
    counts = table["count"].to_pylist()
    assert counts == pytest.approx([500, 0, 300, 500], abs=60)
    assert all(
        low <= count <= high
        for _, count, low, high in zip(*table.to_pydict().values(), strict=True)
        if count > 0
    )
    assert all(low >= 0 for low in table["lower"].to_pylist())
    assert made(kind).estimate([]).num_rows == 0


@BOTH
def test_wider_intervals_for_more_confidence(kind: Any) -> None:
    oracle = made(kind)
    widths = [sum(oracle.interval(confidence)) for confidence in (0.5, 0.9, 0.95)]  # type: ignore[arg-type]
    assert widths == sorted(widths)
    assert widths[0] < widths[2]
    text = "confidence must be strictly between 0 and 1, got 1."
    assert refusal(ParameterError, lambda: oracle.interval(1)) == text


def test_few_cells_bound_nothing() -> None:
    sketch = CountMin(depth=1, width=2, max_weight=1)
    sketch.update(["a"])
    oracle = NoisyCells(oracle_budget(1.0, None)).release(sketch.shape(), SeededBits(1))
    assert oracle.interval(0.95) == (None, None)
    table = oracle.estimate(["a"])
    assert (table["lower"].to_pylist(), table["upper"].to_pylist()) == ([0], [None])


def test_intervals_by_hand() -> None:
    """Four rows cannot be wrong together; 99 of 100 cells are 0, one is 7 too high, one 3 too low."""
    cells = np.zeros((2, 128), np.int64)
    cells[:, 0], cells[:, 1] = 7, -3
    hashing = RowHash("count-min", 2, 128, b"")
    below, above = oracle_interval(cells, hashing, 0.9)
    assert (below, above) == (0, 0)  # (2/128)^2 and 4/128 are below 0.05
    assert oracle_interval(cells, hashing, 1 - 2 * 3.9 / 128) == (0, 3)
    assert oracle_interval(cells, hashing, 1 - 2 * 3.9 / 128**2) == (7, None)
    signed = RowHash("count-sketch", 2, 128, b"")
    assert oracle_interval(cells, signed, 0.9) == (0, 0)  # one of two rows: about 3/128
    assert oracle_interval(cells, signed, 1 - 2 * 2.9 / 128) == (3, 3)


def test_chances_of_half_of_unlike_rows() -> None:
    assert at_least_half_of(np.full(5, 0.125)) == pytest.approx(at_least_half(5, 0.125))
    assert at_least_half_of(np.array([1.0, 0.0, 0.5])) == pytest.approx(0.5)


@BOTH
def test_files_are_public_and_say_so(kind: Any, tmp_path: Any) -> None:
    oracle = made(kind)
    oracle.save(tmp_path / "o.hc")
    data = (tmp_path / "o.hc").read_bytes()
    assert CONTENTS.encode() in data[:1000]
    assert (tmp_path / "o.hc").stat().st_mode & 0o777 == 0o644
    again = Oracle.load(tmp_path / "o.hc")
    assert again.to_bytes() == data == oracle.to_bytes()
    assert again.guarantee == oracle.guarantee
    assert again.estimate(["tea"]).equals(oracle.estimate(["tea"]))
    assert repr(again) == repr(oracle)
    assert repr(oracle).startswith(f"<Oracle of 5 x 1024 noisy cells ({oracle.hashing.kind}): (1, ")


@BOTH
def test_files_hold_nothing_else(kind: Any) -> None:
    """Files of different data with the same seed differ in noisy cells and checksum only, but for a name."""
    fronts = []
    for keys in (["a", "b"] * 500, ["c"], []):
        sketch = kind(depth=5, width=64, seed=1, max_weight=1)
        sketch.update(keys)
        oracle = NoisyCells(oracle_budget(1.0, 1e-6)).release(sketch.shape(), SeededBits(1))
        data = replace(oracle, made=replace(oracle.made, time="", id=None)).to_bytes()
        fronts.append(data[: -(5 * 64 * 8 + 32)])
    assert fronts[0] == fronts[1] == fronts[2]


@BOTH
def test_oracles_of_the_same_seeds_merge(kind: Any) -> None:
    one, other = made(kind), made(kind, seed=2, epsilon=2.0, delta=1e-9)
    both = one.merge(other)
    assert (both.cells == one.cells + other.cells).all()
    assert both.estimate(["tea"])["count"].to_pylist() == pytest.approx([1000], abs=80)
    promise = both.guarantee
    assert (promise.epsilon, promise.delta) == (2.0, 1e-6 if kind is CountSketch else 0.0)
    assert promise.parameters["merged"] == 2
    assert both.made is not None
    assert (both.made.options, both.made.recipe) == ({"merged": 2}, None)
    assert json.loads(both.to_json())["made"]["version"] == both.made.version != ""
    assert Oracle.load(both.to_bytes()).made == both.made
    assert promise.assumptions[-1] == "no event is in more than one of the merged oracles"
    assert [each.epsilon for each in both.guarantees] == [1.0, 2.0]
    assert Oracle.load(both.to_bytes()).guarantee == promise
    assert sum(both.interval(0.95)) > sum(one.interval(0.95))  # type: ignore[arg-type]


def test_merging_unlike_oracles_is_refused() -> None:
    text = (
        "These oracles use different hash functions, so they cannot be merged. Rebuild the second like the"
        " first (--like FIRST, or like=FIRST)."
    )
    for other in (made(CountMin, key=6), made(CountSketch)):
        assert refusal(ParameterError, lambda other=other: made(CountMin).merge(other)) == text
    assert refusal(ParameterError, lambda: made(CountMin).merge(3)) == "merge takes an oracle, got int."  # type: ignore[arg-type]
    one = made(CountMin)
    other = Oracle(one.cells, one.hashing, pa.int64(), one.guarantees)
    text = "merge needs oracles of the same key type, got string and int64."
    assert refusal(ParameterError, lambda: one.merge(other)) == text
    text = "merge needs oracles of different events, got the same one twice."
    assert refusal(ParameterError, lambda: one.merge(Oracle.load(one.to_bytes()))) == text
    rows = replace(one, guarantees=(replace(one.guarantee, unit=RESULT_ROW),))
    text = f"merge needs oracles of the same privacy unit, got event and {RESULT_ROW.name}."
    assert refusal(ParameterError, lambda: one.merge(rows)) == text


@BOTH
def test_keys_of_another_type_are_refused(kind: Any) -> None:
    oracle = made(kind)
    assert refusal(KeyTypeError, lambda: oracle.estimate([1])) == "keys must be string as before, got int64."
    assert refusal(KeyTypeError, lambda: oracle.estimate(["a", None])) == "keys to look up must not be null."
    text = "keys must be a batch, got one str; to count one key use add."
    assert refusal(KeyTypeError, lambda: oracle.estimate("tea")) == text
    assert oracle.estimate(pa.array(["tea"], pa.large_string()))["key"].type == pa.string()


def test_what_is_not_proved_is_refused() -> None:
    sketch = CountSketch()
    sketch.update(["a"], weights=[100])
    text = "noisy cells need a public bound on weights; make the sketch with max_weight=1 (or more)."
    noisy = NoisyCells(oracle_budget(1.0, 1e-6))
    assert refusal(NotProvedError, lambda: noisy.release(sketch.shape(), SeededBits(1))) == text
    text = (
        "noisy-cells is proved for CountMin and CountSketch sketches, not for a single SpaceSaving or "
        "MisraGries stream; count with CountMin or CountSketch."
    )
    shape: Any = SpaceSaving(4).shape()
    assert refusal(NotProvedError, lambda: noisy.release(shape, SeededBits(1))) == text
    text = "delta must be given for count-sketch; count-min needs none."
    cells = CountSketch(max_weight=1).shape()
    assert (
        refusal(ParameterError, lambda: NoisyCells(oracle_budget(1.0, None)).release(cells, SeededBits(1)))
        == text
    )
    for delta in (False, 1.0, float("nan"), -1.0):
        rule = "a number" if delta is False else "strictly between 0 and 1"
        text = f"delta must be {rule}, got {delta}."
        assert refusal(ParameterError, lambda delta=delta: NoisyCells(oracle_budget(1.0, delta))) == text
    assert oracle_budget(1.0, 0).delta == 0
    text = "epsilon must be a finite number above 0, got 0.0."
    assert refusal(ParameterError, lambda: NoisyCells(oracle_budget(0.0, None))) == text


def test_the_unit_is_stated() -> None:
    shape = CountMin(max_weight=1).shape()
    assert (
        NoisyCells(oracle_budget(1.0, None))
        .release(replace(shape, unit=RESULT_ROW), SeededBits(1))
        .guarantee.unit
        == RESULT_ROW
    )


@BOTH
def test_counts_below_zero_lie_in_their_intervals(kind: Any) -> None:
    """Only a part may hold them, and the oracle of a part does not clip its bounds at zero."""

    def released(depth: int, width: int) -> Oracle:
        part = kind(depth=depth, width=width, seed=1, max_weight=1, partial=True)
        part.update(["a"] * 500, weights=[-1] * 500)
        return NoisyCells(oracle_budget(4.0, 1e-6)).release(part.shape(), SeededBits(1))

    oracle = released(5, 1024)
    row = oracle.estimate(["a"], confidence=0.9).to_pylist()[0]
    assert row["lower"] <= -500 <= row["upper"] < 0
    again = Oracle.load(oracle.to_bytes())
    assert again.estimate(["a"]).equals(oracle.estimate(["a"]))
    row = released(1, 2).estimate(["a"], confidence=0.99).to_pylist()[0]
    assert (row["lower"], row["upper"]) == (None, None)


def test_forged_files_are_refused() -> None:
    whole = contents_of(made(CountMin))
    promise = whole.fields["guarantees"][0]

    def forged(**changes: Any) -> Any:
        return lambda: Oracle.load(encode(replace(whole, fields={**whole.fields, **changes})))

    claims: list[dict[str, Any]] = [
        *({"epsilon": epsilon} for epsilon in (float("nan"), -1, 0, "1", True)),
        *({"delta": delta} for delta in (2, -1, "0", False)),
        *({"mechanism": words} for words in (5, None)),
        *({"assumptions": words} for words in ("abc", [1])),
    ]
    changes: list[dict[str, Any]] = [
        *({"guarantees": [{**promise, **claim}]} for claim in claims),
        *({"key_type": kind} for kind in (None, type_to_text(pa.list_(pa.int8())))),
        *({"notes": notes} for notes in ("abc", [1])),
        *({"merged": ids} for ids in ("abc", [1], 5)),
        {"partial": "no"},
        {"guarantees": []},
    ]
    for change in changes:
        text = "The oracle is damaged: its contents contradict each other."
        assert refusal(SketchFileError, forged(**change)) == text
    assert forged()().guarantee == made(CountMin).guarantee


def test_other_files_are_refused(tmp_path: Any) -> None:
    made(CountMin).save(tmp_path / "oracle.hc")
    CountMin(max_weight=1).save(tmp_path / "sketch.hc")
    name = tmp_path / "oracle.hc"
    text = f"{name} is an oracle, not a sketch; ask it with hushcount oracle query."
    assert refusal(SketchFileError, lambda: load(name)) == text
    text = f"{tmp_path / 'sketch.hc'} is a sketch, not an oracle; make one of it with hc.oracle."
    assert refusal(SketchFileError, lambda: Oracle.load(tmp_path / "sketch.hc")) == text
    data = bytearray(made(CountMin).to_bytes())
    data[5000] ^= 1
    text = "The oracle is damaged: its contents do not match its checksum."
    assert refusal(SketchFileError, lambda: Oracle.load(bytes(data))) == text


@BOTH
def test_no_oracle_is_merged_twice(kind: Any, tmp_path: Any) -> None:
    """Before, a, b and a again gave tea 1304 in place of 800."""
    a, b, c = made(kind), made(kind, seed=2), made(kind, seed=3)
    both = a.merge(b)
    assert both.ids == a.ids | b.ids
    assert len(both.ids) == 2
    text = "merge needs oracles of different events, got the same one twice."
    both.save(tmp_path / "both.hc")
    for whole in (both, Oracle.load(tmp_path / "both.hc"), b.merge(a).merge(c)):
        for part in (a, b, Oracle.load(a.to_bytes()), both):
            assert refusal(ParameterError, lambda whole=whole, part=part: whole.merge(part)) == text
            assert refusal(ParameterError, lambda whole=whole, part=part: part.merge(whole)) == text
    assert len(both.merge(c).ids) == 3


def test_files_of_earlier_versions_have_an_id() -> None:
    oracle = Oracle.load(FILES / "oracle-v1.hc")
    (name,) = oracle.ids
    assert len(bytes.fromhex(name)) == 16
    assert Oracle.load(oracle.to_bytes()).ids == oracle.ids
    text = "merge needs oracles of different events, got the same one twice."
    assert refusal(ParameterError, lambda: oracle.merge(Oracle.load(FILES / "oracle-v1.hc"))) == text


@BOTH
def test_cells_near_the_end_of_64_bits_are_refused(kind: Any) -> None:
    """Before, sums of them wrapped round."""
    oracle = made(kind)

    def with_cell(value: int) -> Oracle:
        forged = replace(oracle, cells=oracle.cells.copy())
        forged.cells[0, 0] = value
        return forged

    text = "The oracle is damaged: its contents contradict each other."
    for value in (2**61 + 1, -(2**61) - 1, 2**63 - 1, -(2**63)):
        assert refusal(SketchFileError, lambda v=value: Oracle.load(with_cell(v).to_bytes())) == text
    largest = Oracle.load(with_cell(2**61).to_bytes())
    assert largest.estimate(["tea", "x"]).num_rows == 2
    text = "The cells of these oracles are too large to be added."
    assert refusal(ParameterError, lambda: largest.merge(made(kind, seed=2))) == text


@BOTH
@pytest.mark.parametrize("change", [2**61 + 1, -(2**61) - 1, 2**63 - 1, -(2**63), np.uint64, np.ravel])
def test_an_oracle_cannot_be_built_of_cells_whose_sums_wrap(kind: Any, change: Any) -> None:
    oracle = made(kind)
    cells = oracle.cells.copy()
    if isinstance(change, int):
        cells[0, 0] = change
    else:
        cells = change(np.abs(cells))
    assert refusal(ParameterError, lambda: replace(oracle, cells=cells)) == TOO_LARGE


@BOTH
def test_a_sketch_whose_cells_would_wrap_under_noise_is_refused(kind: Any) -> None:
    sketch = kind(4, 64, max_weight=1)
    sketch.update(["tea"])
    sketch.cells[sketch.cells != 0] = 2**63 - 2
    budget = {"epsilon": 1, "delta": 1e-8}
    assert refusal(ParameterError, lambda: hc.oracle(sketch, **budget)) == TOO_LARGE


def test_a_notebook_shows_an_oracle_with_its_promise():
    shown = hc.oracle(["a"] * 90, width=64, rho=0.1, delta=1e-6)._repr_html_()
    assert shown.startswith("<p>Oracle of ")
    assert "(2.14194, 1e-06)-differential privacy (rho = 0.1 in zCDP, but for delta) for one event" in shown
