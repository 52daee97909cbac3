"""Reduced counts without a domain: what a release states, bounds and refuses (whole texts)."""

from dataclasses import replace

import numpy as np
import pytest
from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.cli.main import main
from hushcount.errors import NotProvedError, ParameterError
from hushcount.jobs.release import release
from hushcount.jobs.trust.verify import verify
from hushcount.privacy import USER

BUDGET = {"epsilon": 1.0, "delta": 1e-6, "mechanism": "reduced"}


def sketch_of(keys, counters=63):
    sketch = hc.MisraGries(counters=counters)
    sketch.update(keys)
    return sketch


def parts(**sizes):
    return [sketch_of([1] * 400 + [2] * 300), sketch_of([1] * 100 + [3] * 500 + [4], **sizes)]


def test_several_sketches_are_released_together():
    made = release(parts(), bits=SeededBits(1), **BUDGET)
    assert made.guarantee.mechanism == "release of reduced counts"
    assert made.guarantee.parameters == {"threshold": 28, "units": 64, "candidates": 63, "shards": 2}
    assert made.keys["key"].to_pylist() == [3, 1, 2]
    assert made.counts.to_pylist() == pytest.approx([490, 480, 290], abs=30)
    assert verify(made.to_json().encode()).holds
    again = hc.read_release(made.to_json().encode())
    assert again.table.equals(made.table)


def test_one_sketch_is_released_too():
    made = release(parts()[0], max_events=6400, **BUDGET)
    assert made.guarantee.parameters["shards"] == 1
    assert made.keys["key"].to_pylist() == [1, 2]
    said = made.accuracy().sentences
    assert said[2] == (
        "count is a lower estimate; the sketch may have left out up to 100 of it, by max_events and its"
        " counters."
    )


def test_users_of_several_rows_are_protected_together():
    sketches = parts()
    for sketch in sketches:
        sketch.unit = replace(USER, rows=4)
    made = release(sketches, **BUDGET)
    assert made.guarantee.mechanism == "release of reduced counts for groups of 4 rows"
    assert made.guarantee.parameters["row_epsilon"] == pytest.approx(0.25)


def test_rows_near_the_threshold_say_only_that_the_key_occurred():
    error = release(parts(), bits=SeededBits(1), **BUDGET).error
    lower, upper = error.row_bounds(np.array([28, 29, error.full_from(0.95), 1000]), 0.95)
    below, above = error.interval(0.95)
    assert (upper, above) == (None, None)
    assert lower[:2].tolist() == [1, 1]
    assert lower[2] >= error.full_from(0.95) - below
    assert lower[3] == 1000 - below + 1


def test_intervals_hold_for_many_parts():
    """What the lower and upper ends say of the sum of 40 sketches, all keys at once."""
    generator = np.random.default_rng(5)
    streams = [generator.zipf(1.3, 2000) % 300 for _ in range(40)]
    sketches = [sketch_of(stream.tolist(), 99) for stream in streams]
    made = release(sketches, max_events=80_000, **BUDGET)
    below, above = made.error.bounds(1e-9, 10_000)
    true = np.bincount(np.concatenate(streams), minlength=300)
    assert len(made) > 3
    for key, count in zip(made.keys["key"].to_pylist(), made.counts.to_pylist(), strict=True):
        assert count - below <= true[key] <= count + above
    assert above <= 800 + below + 2


def refused(error, sketches, **options):
    with pytest.raises(error) as raised:
        release(sketches, **{**BUDGET, **options})
    return str(raised.value)


def test_what_is_refused():
    assert refused(NotProvedError, parts(counters=8)) == (
        "reduced is proved for sketches with the same number of counters; count every part with as many"
        " counters."
    )
    exact = hc.Exact()
    exact.update([1, 2])
    assert refused(NotProvedError, exact) == (
        "reduced is proved for a single SpaceSaving or MisraGries stream or a list of SpaceSaving or"
        " MisraGries sketches, not for exact counts; release one SpaceSaving or MisraGries sketch, or a list"
        " of them."
    )
    assert refused(ParameterError, parts(), domain="0..99", delta=0) == (
        "mechanism must be pure-shards with a domain and several sketches, got reduced."
    )
    merged = parts()[0].merge(parts()[1])
    assert refused(NotProvedError, merged).endswith(
        'not for merged and user-level sketches; use mechanism="gaussian", or release shards with'
        " hc.release(shards)."
    )


def test_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, part in zip("ab", parts(), strict=True):
        part.save(f"{name}.hc")
    named = ["--epsilon", "1", "--delta", "1e-6", "--mechanism", "reduced"]
    assert main(["release", "a.hc", "b.hc", *named]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:4]] == ["3", "1", "2"]
    (tmp_path / "keys.csv").write_text("key\n" + "tea\n" * 500)
    assert main(["top", "keys.csv", "--column", "key", "--counters", "63", *named]) == 0
    assert "tea" in capsys.readouterr().out
