"""Private weighted sampling: draws equal the integer rows, releases, refusals."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.reference.sample_banded import PrivateSampleBanded
from tests.seeded_bits import DictatedBits, SeededBits

from hushcount.errors import NotProvedError, ParameterError
from hushcount.mechanisms.sampling.bounds import Bounds
from hushcount.mechanisms.sampling.distribution import SampleDistribution
from hushcount.mechanisms.sampling.filter import OPEN, draw_values, uniform_bounds, walk
from hushcount.mechanisms.sampling.rows import SampleRows, values_grid
from hushcount.mechanisms.sampling.sample import PrivateSample, PrivateSampleKeys
from hushcount.mechanisms.sampling.schemes import EVERY_KEY, Pps, Ppswor, Scheme
from hushcount.mechanisms.sampling.tabled import SamplingTable
from hushcount.privacy import Budget
from hushcount.shapes import Histogram
from hushcount.sketches.samples.weighted import coordinated_sample

SCHEMES: list[Scheme] = [
    EVERY_KEY,
    Ppswor(0.01),
    Pps(0.01),
    Ppswor(0.001, 2),
    Pps(0.001, 2),
    Pps(0.3, 0.5),
    Ppswor(0.2, 0),
    Ppswor(1e-9),
    Pps(1e-6, 1.5),
    SamplingTable((0.0, 0.1, 0.1, 0.9)),
]


def histogram(counts: list[int]) -> Histogram:
    return Histogram(pa.array(range(len(counts))), np.array(counts, dtype=np.int64))


def mixed_counts(size: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    large = np.exp(generator.uniform(0, np.log(1e12), size - size // 2)).astype(np.int64)
    return np.concatenate([generator.integers(1, 100, size // 2), large])


@pytest.mark.parametrize("budget", [(1.0, 1e-6), (0.5, 1e-9), (3.0, 0.2), (20.0, 1e-3), (20.0, 1e-280)])
@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_the_walk_between_bounds_decides_as_the_integers_do(budget, scheme):
    rows = SampleRows(values_grid(Budget(*budget)), scheme)
    counts = mixed_counts(40, 5)
    generator = np.random.default_rng(6)
    scale = np.minimum(scheme.probability(counts) * 1.2, 1.0) * generator.random(40) ** 2
    words = (scale * (2.0**64 - 4096)).astype(np.uint64)
    values = walk(rows, counts, uniform_bounds(words))
    shift = rows.grid.width - 64
    assert (values > 0).sum() >= 10
    for count, word, value in zip(counts.tolist(), words.tolist(), values.tolist(), strict=True):
        ends = {rows.draw(count, word << shift), rows.draw(count, ((word + 1) << shift) - 1)}
        assert value == OPEN or ends == {value}


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_tokens_are_decided_as_the_integers_do(scheme):
    rows = SampleRows(values_grid(Budget(1.0, 1e-6), 16), scheme, 16)
    counts = mixed_counts(30, 7)
    generator = np.random.default_rng(8)
    words = (scheme.probability(counts) * generator.random(30) * (2.0**64 - 4096)).astype(np.uint64)
    tokens = walk(rows, counts, uniform_bounds(words))
    shift = rows.grid.width - 64
    assert (tokens > 0).sum() >= 5
    for count, word, token in zip(counts.tolist(), words.tolist(), tokens.tolist(), strict=True):
        ends = {rows.draw(count, word << shift), rows.draw(count, ((word + 1) << shift) - 1)}
        assert token == OPEN or ends == {token}


def test_the_integer_draw_has_the_masses_of_the_tokens():
    rows = SampleRows(values_grid(Budget(0.7, 1e-4), 5), Ppswor(0.05), 5)
    for count in (1, 2, 9, 30):
        start = 0
        for token, mass in sorted(rows.row(count).items(), reverse=True):
            for uniform in (start, start + mass - 1):
                assert rows.draw(count, uniform) == token
            start += mass
        assert start == rows.grid.whole


def test_a_release_of_tokens_orders_more_finely():
    counts = [200_000, 30_000, 700, 90, 40, 3]
    release = PrivateSample(Budget(1.0, 1e-6), tokens=8).release(histogram(counts), SeededBits(4))
    rows = release.table.to_pylist()
    assert [row["key"] for row in rows] == [0, 1, 2, 3, 4]
    assert all(row["sanitised"] * 8 == int(row["sanitised"] * 8) for row in rows)
    assert any(row["sanitised"] != int(row["sanitised"]) for row in rows)
    assert all(row["lower"] <= counts[row["key"]] <= row["upper"] for row in rows)
    assert release.sum().value == pytest.approx(sum(counts), abs=60)
    for tokens, text in ((0, "at least 1, got 0."), (2000, "at most 1024, got 2000.")):
        with pytest.raises(ParameterError) as error:
            PrivateSample(Budget(1.0, 1e-6), tokens=tokens)
        assert str(error.value) == f"tokens must be {text}"


def test_the_walk_leaves_open_what_it_cannot_decide():
    rows = SampleRows(values_grid(Budget(1.0, 1e-6)), Ppswor(0.01))
    count = 30
    (published,) = rows.reporting(count, count)
    close = published / rows.grid.whole
    bounds = Bounds(np.array([close * (1 - 1e-15)]), np.array([close * (1 + 1e-15)]))
    assert walk(rows, np.array([count]), bounds).tolist() == [OPEN]


def test_open_keys_are_settled_by_the_remaining_bits():
    rows = SampleRows(values_grid(Budget(1.0, 1e-6)), Ppswor(0.01))
    (published,) = rows.reporting(30, 30)
    head, rest = published >> 64, published & (2**64 - 1)
    for low, expected in ((rest, 0), (rest - 1, rows.draw(30, published - 1))):
        bits = DictatedBits([[], [head], [low]])
        assert draw_values(rows, np.array([30]), bits).tolist() == [expected]
        assert bits.used_up


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_the_integer_draw_has_the_masses_of_the_row(scheme):
    rows = SampleRows(values_grid(Budget(0.7, 1e-4)), scheme)
    for count in (1, 2, 9, 30, 57):
        start = 0
        for value, mass in sorted(rows.row(count).items(), reverse=True):
            for uniform in (start, start + mass - 1):
                assert rows.draw(count, uniform) == value
            start += mass
        assert start == rows.grid.whole


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_the_law_in_floats_is_the_law_in_integers(scheme):
    rows = SampleRows(values_grid(Budget(0.7, 1e-4)), scheme)
    law = SampleDistribution.of(Budget(0.7, 1e-4), scheme)
    listed = list(law.rows(60))
    for count in (1, 2, 9, 30, 60):
        values, probabilities = law.row(count)
        exact = rows.row(count)
        published = sum(mass for value, mass in exact.items() if value) / rows.grid.whole
        assert float(law.reporting(count)) == pytest.approx(published, rel=1e-12)
        for value, probability in zip(values.tolist(), probabilities.tolist(), strict=True):
            assert probability == pytest.approx(exact.get(value, 0) / rows.grid.whole, rel=1e-6, abs=1e-13)
            assert listed[count - 1][value - 1] == pytest.approx(probability, abs=1e-13)


def test_counts_of_a_trillion_are_drawn():
    counts = np.full(1000, 10**12)
    for scheme in (Ppswor(1e-12), Pps(1e-12), EVERY_KEY):
        values = draw_values(SampleRows(values_grid(Budget(0.1, 1e-9)), scheme), counts, SeededBits(3))
        published = values[values > 0]
        assert len(published) > 500
        assert (10**12 - published < 700).all()


def test_a_release_tells_counts_bounds_and_estimates():
    truth = [200_000, 30_000, 700, 90, 40, 3, 1]
    mechanism = PrivateSample(Budget(1.0, 1e-6), scheme=Pps(0.01))
    release = mechanism.release(histogram(truth), SeededBits(4))
    table = release.table
    assert table.column_names == ["key", "count", "lower", "upper", "sanitised", "estimate"]
    assert table["key"].to_pylist()[:4] == [0, 1, 2, 3]
    for row in table.to_pylist():
        assert row["lower"] <= truth[row["key"]] <= row["upper"]
        assert row["sanitised"] <= truth[row["key"]]
        assert row["estimate"] >= row["count"]
    assert release.guarantee.parameters == {"scheme": "Poisson PPS (rate 0.01, power 1)"}
    assert '"sanitised"' in release.to_json()


def test_keys_alone():
    mechanism = PrivateSampleKeys(Budget(1.0, 1e-6), scheme=Pps(0.01))
    release = mechanism.release(histogram([1, 1000, 2, 100_000]), SeededBits(1))
    assert release.keys["key"].to_pylist() == [1, 3]
    assert len(release) == 2


def test_keys_alone_settle_ties_by_the_remaining_bits():
    mechanism = PrivateSampleKeys(Budget(1.0, 1e-6), scheme=Ppswor(0.01))
    (mass,) = mechanism.rows.reporting(30, 30)
    for low, published in ((mass % 2**64, 0), (mass % 2**64 - 1, 1)):
        bits = DictatedBits([[mass >> 64], [low]])
        assert len(mechanism.release(histogram([30]), bits)) == published
        assert bits.used_up


@pytest.mark.parametrize("kind", [PrivateSample, PrivateSampleBanded])
def test_without_data_nothing_is_published(kind):
    release = kind(Budget(1.0, 1e-6), scheme=Pps(0.5)).release(histogram([]), SeededBits(1))
    assert len(release) == 0
    assert release.table.num_rows == 0
    assert release.sum().value == 0


def test_row_by_row_reaches_large_counts_where_rows_are_stationary():
    mechanism = PrivateSampleBanded(Budget(1.0, 1e-6), scheme=Pps(0.1))
    release = mechanism.release(histogram([3, 20, 10**12, 500]), SeededBits(1))
    assert release.keys["key"].to_pylist()[:2] == [2, 3]
    assert 10**12 - release.counts[0].as_py() < 28


@pytest.mark.parametrize("scheme", [Ppswor(1e-4), Pps(1e-5), Ppswor(0.2, 0)])
def test_row_by_row_refuses_slow_schemes_before_it_sees_counts(scheme):
    with pytest.raises(ParameterError) as error:
        PrivateSampleBanded(Budget(1.0, 1e-6), scheme=scheme)
    assert str(error.value) == (
        "sample-banded needs a scheme that samples counts above 65536 for certain,"
        f" got {scheme.name}; use PrivateSample."
    )


def test_row_by_row_limits_counts_where_rows_are_not_stationary(monkeypatch):
    """No error depends on the data: counts beyond the last row passed are taken as that one."""
    mechanism = PrivateSampleBanded(Budget(1.0, 1e-6), scheme=Pps(0.1))
    monkeypatch.setattr("tests.reference.sample_banded.LARGEST_COUNT", 15)
    monkeypatch.setattr("tests.reference.sample_banded.may_follow", lambda *_: False)
    release = mechanism.release(histogram([10**12, 200]), SeededBits(1))
    assert 0 < len(release) <= 2
    assert max(release.counts.to_pylist()) <= 30


@pytest.mark.parametrize("kind", [PrivateSample, PrivateSampleKeys, PrivateSampleBanded])
def test_a_delta_too_small_for_floats_is_refused_by_its_name(kind):
    with pytest.raises(ParameterError) as error:
        kind(Budget(1.0, 1e-281), scheme=Pps(0.1))
    assert str(error.value) == "delta must be 0 or at least 1e-280, got 1e-281."
    assert kind(Budget(20.0, 1e-280), scheme=Pps(0.1)).name


@pytest.mark.parametrize("kind", [PrivateSample, PrivateSampleKeys])
def test_work_is_bounded_by_the_budget_before_any_is_done(kind):
    with pytest.raises(ParameterError) as error:
        kind(Budget(1e-4, 1e-6), scheme=Pps(3.3e-7))
    assert str(error.value) == (
        "epsilon is too small for a sample at delta = 1e-06: drawing a key may take 350,546 steps,"
        " at most 65,536 are allowed, got epsilon = 0.0001."
    )
    assert kind(Budget(6e-4, 1e-6), scheme=Pps(3.3e-7)).rows.grid.depth == 61_407


@pytest.mark.parametrize("kind", [PrivateSample, PrivateSampleBanded])
def test_a_coordinated_sample_is_refused(kind):
    sample = coordinated_sample(histogram([5, 50]), Pps(0.1), seed=7)
    mechanism = kind(Budget(1.0, 1e-6), scheme=Pps(0.1))
    with pytest.raises(NotProvedError) as error:
        mechanism.release(sample, SeededBits(1))
    assert str(error.value) == (
        f"{kind.name} is proved for exact counts, not for a weighted sample; release the aggregated "
        "counts, whose"
        " sampling is drawn in secret, or first release with"
        ' mechanism="truncated-geometric" and sample that.'
    )
