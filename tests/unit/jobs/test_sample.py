"""`hc.sample` in the library: the sample, its table, and refusals before anything is read."""

import numpy as np
import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.errors import DataError, ParameterError
from hushcount.mechanisms.sampling.schemes import Pps

BUDGET = {"epsilon": 1.0, "delta": 1e-12}
KEYS = ["tea"] * 9000 + ["milk"] * 6000 + [f"rare{i}" for i in range(50)]
FORBIDDEN = object()


def refusal(data=FORBIDDEN, kind=ParameterError, **options):
    with pytest.raises(kind) as caught:
        hc.sample(data, **{**BUDGET, **options})
    return str(caught.value)


@pytest.mark.parametrize("scheme", ["pps", "ppswor"])
def test_a_sample_holds_the_frequent_keys_and_no_rare_ones(scheme):
    release = hc.sample(KEYS, rate=0.01, scheme=scheme, **BUDGET)
    rows = release.table.to_pylist()
    assert [row["key"] for row in rows] == ["tea", "milk"]
    assert list(rows[0]) == ["key", "count", "lower", "upper", "sanitised", "estimate"]
    assert abs(rows[0]["count"] - 9000) < 30
    assert rows[0]["sanitised"] <= 9000
    assert release.sum().value == pytest.approx(15_000, abs=60)
    assert release.guarantee.mechanism == "private weighted sampling"


def test_a_size_becomes_a_rate_by_the_public_bound():
    release = hc.sample(KEYS, size=100, max_events=20_000, **BUDGET)
    assert release.guarantee.parameters == {"scheme": "Poisson PPS (rate 0.005, power 1)"}


def test_fresh_randomness_each_time():
    keys = np.repeat(np.arange(2000), 100)
    samples = [set(hc.sample(keys, rate=1e-3, **BUDGET).table["key"].to_pylist()) for _ in range(2)]
    assert samples[0] != samples[1]
    assert all(100 < len(picked) < 320 for picked in samples)  # 2000 keys at 0.1


def test_columns_output_and_confidence(tmp_path):
    import polars as pl

    frame = pl.DataFrame({"shop": ["a"] * 3000 + ["b"] * 2000, "item": ["x"] * 5000})
    path = tmp_path / "sample.csv"
    release = hc.sample(
        frame, column=["shop", "item"], rate=1, output=path, limit=1, confidence=0.5, **BUDGET
    )
    assert release.table.column_names[:2] == ["shop", "item"]
    assert path.read_text().splitlines()[1].startswith('"a","x",')
    assert len(path.read_text().splitlines()) == 2


def test_no_events_no_sample():
    release = hc.sample([], rate=0.5, **BUDGET)
    assert len(release) == 0
    assert release.sum().value == 0


def test_exact_counts_are_released_by_the_truncated_geometric():
    sketch = hc.Exact()
    sketch.update(KEYS)
    release = hc.release(sketch, **BUDGET)
    assert release.guarantee.mechanism == "truncated geometric"
    assert release.table["key"].to_pylist() == ["tea", "milk"]
    assert release.sum(lambda key: key == "milk").value == pytest.approx(6000, abs=30)


def test_counters_above_a_public_floor():
    release = hc.top(
        KEYS, counters=64, mechanism="public-floor", max_events=20_000, confidence=1 - 1e-12, **BUDGET
    )
    assert release.table["key"].to_pylist() == ["tea", "milk"]
    assert release.guarantee.parameters["max_events"] == 20_000
    lower, upper = release.table["lower"].to_pylist(), release.table["upper"].to_pylist()
    assert all(low <= count <= high for low, count, high in zip(lower, (9000, 6000), upper, strict=True))


def test_a_noisy_total_sets_the_rate():
    release = hc.sample(KEYS * 10, size=100, epsilon=1.0, delta=1e-6, total_share=0.5)
    stated = release.guarantee.parameters
    assert abs(stated["total"] - len(KEYS) * 10) < 60  # discrete Laplace noise of scale 2
    assert stated["scheme"] == Pps(min(1, 100 / stated["total"])).name
    assert (stated["size"], stated["total_share"]) == (100, 0.5)
    assert stated["total_noise"] == "discrete Laplace of scale 2"
    assert release.notes[0] == (
        f"The sampling rate follows from a noisy total of {stated['total']:,}, which took 0.5 of epsilon and"
        " lies at most 6 from the truth with confidence 0.95."
    )


def test_a_noisy_total_of_a_sketch_and_of_users_sets_the_rate():
    counts = hc.Exact()
    counts.update(KEYS)
    stated = hc.sample(counts, size=100, epsilon=1.0, delta=1e-6, total_share=0.5).guarantee.parameters
    assert abs(stated["total"] - len(KEYS)) < 60
    rows = {"user": [place // 3 for place in range(6000)], "key": [f"k{place % 3}" for place in range(6000)]}
    told = hc.sample(
        pa.table(rows), column="key", user="user", max_keys=2, size=10, epsilon=1.0, delta=1e-6
    ).guarantee
    assert told.parameters["total_noise"] == "discrete Laplace of scale 40"
    assert abs(told.parameters["total"] - 4000) < 1200
    assert (told.epsilon, told.delta, told.parameters["max_keys"]) == (1.0, 1e-6, 2)


def test_a_noisy_total_is_one_charge_of_the_ledger(tmp_path):
    ledger = hc.Ledger(tmp_path / "spent.db")
    ledger.init("shop", epsilon=3, delta=1e-5)
    hc.sample(KEYS, size=100, epsilon=1.0, delta=1e-6, ledger=ledger, dataset="shop", run_id="monday")
    shown = ledger.show("shop")[0]
    assert float(shown["spent"]["epsilon"]) == 1.0
    assert float(shown["spent"]["delta"]) == 1e-6


def test_weights_need_a_public_bound_for_a_size():
    with pytest.raises(ParameterError) as caught:
        hc.sample("none.csv", column="key", weight="bytes", max_weight=3, size=5, epsilon=1.0, delta=1e-6)
    assert str(caught.value) == ("size needs max_events with weight: a noisy total is one of events only.")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "Give either rate, or size, or probabilities, got none."),
        ({"rate": 0.1, "size": 5}, "Give either rate, or size, or probabilities, got several."),
        ({"rate": 0}, "rate must be a finite number above 0, got 0."),
        ({"rate": 0, "scheme": "ppswor"}, "rate must be a finite number above 0, got 0."),
        ({"rate": 0.1, "power": 3}, "power must lie between 0 and 2, got 3."),
        ({"rate": 0.1, "power": -0.1}, "power must lie between 0 and 2, got -0.1."),
        ({"rate": 0.1, "scheme": "best"}, "scheme must be one of pps, ppswor, got best."),
        ({"size": 0}, "size must be at least 1, got 0."),
        ({"size": 5, "total_share": 1}, "total_share must be strictly between 0 and 1, got 1."),
        (
            {"size": 5, "total_share": 0.1, "max_events": 5},
            "total_share needs size, without max_events: it is what a noisy total takes of epsilon.",
        ),
        (
            {"rate": 0.1, "total_share": 0.1},
            "total_share needs size, without max_events: it is what a noisy total takes of epsilon.",
        ),
        ({"size": 0, "max_events": 5}, "size must be at least 1, got 0."),
        ({"rate": 0.1, "delta": 0}, "delta must be strictly between 0 and 1, got 0."),
        (
            {"rate": 0.1, "epsilon": 1e-7},
            "epsilon is too small for delta = 1e-12: the noise would need a table of 6.96e+08 rows,"
            " at most 4194304 are allowed, got epsilon = 1e-07.",
        ),
    ],
)
def test_refusals_come_before_the_data(options, text):
    assert refusal(**options) == text


def test_more_events_than_the_public_bound():
    assert refusal(KEYS, DataError, rate=0.1, max_events=100).startswith(
        "The data hold more than max_events = 100 events, so nothing was released;"
    )


def test_a_user_of_one_key_is_what_the_assumptions_name():
    """Before, they spoke of one event."""
    visits = pa.table({"user": range(900), "page": [f"page {user % 3}" for user in range(900)]})
    asked = {"column": "page", "user": "user", "max_keys": 1, "rate": 1.0, "epsilon": 1.0, "delta": 1e-6}
    assert hc.sample(visits, **asked).guarantee.assumptions == (
        "one user changes one count by 1",
        "the sampling scheme is public, its randomness secret",
    )


def test_a_sample_of_users():
    visits = {
        "user": [user for user in range(3000) for _ in range(3)],
        "page": [f"page {(user + more) % 4}" for user in range(3000) for more in (0, 0, 1)],
    }
    asked = {"column": "page", "user": "user", "max_keys": 2, "rate": 1.0, "epsilon": 1.0, "delta": 1e-6}
    release = hc.sample(pa.table(visits), confidence=1 - 1e-9, **asked)
    assert release.guarantee.unit.name == "user"
    shares = {name: release.guarantee.parameters[name] for name in ("max_keys", "key_epsilon", "key_delta")}
    assert shares["max_keys"] == 2
    assert 0.499999 < shares["key_epsilon"] < 0.5
    assert 4.99999e-7 < shares["key_delta"] < 5e-7
    rows = release.table.to_pylist()
    assert sorted(row["key"] for row in rows) == [f"page {page}" for page in range(4)]
    assert all(row["lower"] <= 1500 <= row["upper"] for row in rows)
    assert release.counted.noun == "users"
    with pytest.raises(ParameterError) as caught:
        hc.sample(pa.table(visits), checkpoint="x", **asked)
    assert str(caught.value).startswith("checkpoint cannot be combined with user:")
