"""`sample` of sketches in memory and in files."""

from __future__ import annotations

from dataclasses import replace

import pytest

import hushcount as hc
from hushcount.errors import HushcountError
from hushcount.jobs.sketch_files import merge_sketches
from hushcount.privacy import USER

BUDGET = {"epsilon": 1.0, "delta": 1e-9}
EVENTS = ["tea"] * 5000 + ["milk"] * 3000 + ["salt"]


def counts():
    sketch = hc.Exact()
    sketch.update(EVENTS)
    return sketch


@pytest.mark.parametrize("in_file", [False, True])
def test_exact_counts_are_sampled(tmp_path, in_file):
    data = counts()
    if in_file:
        data.save(tmp_path / "counts.hc")
        data = tmp_path / "counts.hc"
    release = hc.sample(data, rate=0.01, **BUDGET)
    assert release.table["key"].to_pylist() == ["tea", "milk"]
    assert release.guarantee == hc.sample(EVENTS, rate=0.01, **BUDGET).guarantee
    assert hc.verify(release.to_json().encode()).holds


@pytest.mark.parametrize("in_file", [False, True])
def test_samples_are_sanitised_by_their_own_scheme(tmp_path, in_file):
    data = hc.WeightedSample.of(counts(), hc.Ppswor(0.01))
    if in_file:
        data.save(tmp_path / "sample.hc")
        data = tmp_path / "sample.hc"
    release = hc.sample(data, limit=1, **BUDGET)
    assert release.table["key"].to_pylist() == ["tea"]
    assert release.guarantee.parameters == {"scheme": "ppswor (rate 0.01, power 1)"}
    assert hc.verify(release.to_json().encode()).holds


def test_counts_of_users_pay_for_all_keys_of_a_user():
    sketch = counts()
    sketch.unit = replace(USER, rows=4)
    release = hc.sample(sketch, rate=0.01, **BUDGET)
    assert release.guarantee.parameters["max_keys"] == 4
    assert release.counted.noun == "users"


def test_a_dry_run_draws_nothing():
    assert hc.sample(counts(), rate=0.01, dry_run=True, **BUDGET).guarantee.epsilon == 1


def test_a_ledger_is_charged_once_and_answers_a_retry(tmp_path):
    ledger = hc.Ledger(tmp_path / "ledger.db")
    ledger.init("shop", epsilon=1.5, delta="1e-6")
    data = hc.WeightedSample.of(counts(), hc.Pps(0.01))
    data.save(tmp_path / "sample.hc")
    asked = {"ledger": tmp_path / "ledger.db", "dataset": "shop", **BUDGET}
    first, again = (hc.sample(tmp_path / "sample.hc", **asked) for _ in range(2))
    assert first.table == again.table
    with pytest.raises(HushcountError, match="shop"):
        hc.sample(tmp_path / "sample.hc", **{**asked, "epsilon": 0.9})


@pytest.mark.parametrize(
    ("make", "options", "text"),
    [
        (counts, {}, "Give either rate, or size, or probabilities, got none."),
        (
            counts,
            {"rate": 0.1, "column": "x"},
            "column cannot be combined with a sketch, whose keys were counted before.",
        ),
        (
            lambda: hc.WeightedSample(["a"], [9], hc.Pps(0.1)),
            {"rate": 0.1},
            "rate cannot be combined with a sample, which its own scheme drew.",
        ),
        (
            lambda: hc.WeightedSample(["a"], [9], hc.Pps(0.1)),
            {"tokens": 2},
            "keys_only and tokens cannot be combined with a sample: its counts are sanitised as they are.",
        ),
        (
            counts,
            {"rate": 0.1, "keys_only": True, "tokens": 2},
            "keys_only publishes no counts, so it needs neither plot nor tokens.",
        ),
        (
            lambda: hc.SpaceSaving(counters=8),
            {"rate": 0.1},
            "sample is proved for exact counts, not for a single SpaceSaving or MisraGries stream; release"
            " the aggregated counts, whose sampling is drawn in secret, or first release with"
            ' mechanism="truncated-geometric" and sample that.',
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, options, text):
    with pytest.raises(HushcountError) as error:
        hc.sample(make(), **BUDGET, **options)
    assert str(error.value) == text


def test_lists_of_probabilities_in_files(tmp_path):
    path = tmp_path / "q.txt"
    path.write_text("0\n0.5\n\n1\n")
    release = hc.sample(EVENTS, probabilities=path, **BUDGET)
    assert release.guarantee.parameters == {"scheme": "table of 3 probabilities"}
    path.write_text("0\nhalf\n")
    with pytest.raises(HushcountError) as error:
        hc.sample(EVENTS, probabilities=path, **BUDGET)
    assert str(error.value) == f"{path} must hold one probability on each line."
    with pytest.raises(HushcountError) as error:
        hc.sample(EVENTS, probabilities=tmp_path / "none.txt", **BUDGET)
    assert str(error.value) == f"{tmp_path / 'none.txt'} cannot be read as a list of probabilities."


@pytest.mark.parametrize("make", [counts, lambda: EVENTS], ids=["sketch", "events"])
def test_keys_alone(make):
    release = hc.sample(make(), rate=0.01, keys_only=True, **BUDGET)
    assert release.table.to_pydict() == {"key": ["milk", "tea"]}
    assert release.guarantee.mechanism == "private weighted sampling of keys"
    assert release.counted.noun == "keys"
    assert hc.verify(release.to_json().encode()).holds


def test_a_table_is_part_of_what_a_ledger_is_asked(tmp_path):
    hc.Ledger(tmp_path / "ledger.db").init("shop", epsilon=2, delta="1e-6")
    asked = {"ledger": tmp_path / "ledger.db", "dataset": "shop", "run_id": "one", **BUDGET}
    first = hc.sample(EVENTS, probabilities=[0.0, 0.5], **asked)
    assert hc.sample(EVENTS, probabilities=[0.0, 0.5], **asked).table == first.table
    with pytest.raises(HushcountError):
        hc.sample(EVENTS, probabilities=[0.0, 0.6], **asked)


def test_files_of_samples_merge(tmp_path):
    paths = [tmp_path / "a.hc", tmp_path / "b.hc"]
    for path, key in zip(paths, ("a", "b"), strict=True):
        hc.WeightedSample([key], [5000], hc.Pps(0.1)).save(path)
    merge_sketches(paths, tmp_path / "both.hc")
    assert sorted(hc.sample(tmp_path / "both.hc", **BUDGET).table["key"].to_pylist()) == ["a", "b"]
    for path, key in zip(paths, ("a", "b"), strict=True):
        sketch = hc.BottomK(4, power=0)
        sketch.update([key])
        sketch.save(path)
    merge_sketches(paths, tmp_path / "both.hc")
    assert sorted(hc.load(tmp_path / "both.hc").keys) == ["a", "b"]
