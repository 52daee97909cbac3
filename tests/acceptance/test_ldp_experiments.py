"""Experiments of the local model: data sets, the laws of the protocols compared with, and what was found."""

import json
import math

import numpy as np
import pytest
from experiments.ldp import baselines, data
from experiments.ldp.count_sketch import (
    EXPECTED,
    PRINTED,
    RESPONSES,
    CountSketch,
    tree_hist,
    with_bits,
    with_signs,
)
from experiments.ldp.count_sketch import page as count_sketch_page
from experiments.ldp.hadamard_sketch import HadamardSketch
from experiments.ldp.methods import BASELINES, METHODS
from experiments.ldp.page import TABLES, figures_table, page, with_figures
from experiments.ldp.products import PRODUCTS, simulate
from experiments.ldp.quality import Campaign, quality
from experiments.ldp.run import FOLDER, main
from experiments.ldp.table import BOUNDS, LEAST_COUNT

LAWS = {"unary": baselines.unary, "optimised": baselines.optimised_unary, "hashing": baselines.local_hashing}
REPEATS = 40_000
DEVIATIONS = 6


def fits(estimates, mean, variance):
    """Whether draws (one a row) have these means and variances, by six standard errors."""
    repeats = len(estimates)
    off = np.abs(estimates.mean(axis=0) - mean) / np.sqrt(variance / repeats)
    ratio = estimates.var(axis=0) / variance
    return bool((off < DEVIATIONS).all() and (np.abs(ratio - 1) < DEVIATIONS * math.sqrt(2 / repeats)).all())


@pytest.mark.parametrize("name", ["words", "zipf"])
def test_counts_sum_to_the_users_and_fall(name):
    items, held = data.counts(name, 1_000_003)
    assert len(set(items)) == len(items) == {"words": 26_000, "zipf": 93}[name]
    assert all(0 < len(item) <= 6 and set(item) <= set(data.ALPHABET) for item in items)
    assert held.sum() == 1_000_003
    assert (np.diff(held) <= 0).all()


def test_a_population_has_the_counts_in_an_order_of_its_own():
    items, held = data.words(50_000)
    users = data.population(50_000, 1)
    assert (np.bincount(users, minlength=len(items)) == held).all()
    assert (users != data.population(50_000, 2)).any()
    assert (users == data.population(50_000, 1)).all()


def test_words_have_codes():
    items = [*data.english()[0][:500], *data.zipf()[0]]
    codes = data.codes_of(items)
    assert [data.word_of(int(code)) for code in codes] == items
    assert data.codes_of(["a", "ba", "zzzzzz"]).tolist() == [
        1 << 25,
        2 << 25 | 1 << 20,
        0b110101101011010110101101011010,
    ]


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("law", LAWS)
def test_a_law_has_its_variance(law, epsilon):
    law = LAWS[law](epsilon)
    held, users = np.array([0, 10, 5000]), 20_000
    rng = np.random.default_rng(7)
    estimates = law.estimate(np.tile(held, (REPEATS, 1)), users, rng)
    assert fits(estimates, held, law.variance(held, users))
    for wrong in (0.9, 1.1):
        assert not fits(estimates, held, law.variance(held, users) * wrong)


def hashed_reports(held, epsilon, repeats, rng):
    """Support counts of local hashing, user by user: a fresh random hash each, then randomised response."""
    g = baselines.hash_values(epsilon)
    support = np.zeros((repeats, len(held)))
    for item, users in enumerate(held):
        for _ in range(users):
            hashes = rng.integers(0, g, (repeats, len(held)))
            truthful = rng.random(repeats) < math.exp(epsilon) / (math.exp(epsilon) + g - 1)
            other = (hashes[:, item] + rng.integers(1, g, repeats)) % g
            support += hashes == np.where(truthful, hashes[:, item], other)[:, None]
    return support


def unary_reports(held, epsilon, repeats, rng):
    """Support counts of optimised unary encoding, bit by bit."""
    support = np.zeros((repeats, len(held)))
    for item, users in enumerate(held):
        chance = np.full(len(held), 1 / (math.exp(epsilon) + 1))
        chance[item] = 0.5
        for _ in range(users):
            support += rng.random((repeats, len(held))) < chance
    return support


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize(("law", "reports"), [("optimised", unary_reports), ("hashing", hashed_reports)])
def test_the_law_of_supports_is_that_of_the_reports(law, reports, epsilon):
    """Means, variances and no correlation, from reports drawn user by user."""
    law, held = LAWS[law](epsilon), np.array([0, 3, 20])
    users = int(held.sum())
    support = reports(held, epsilon, REPEATS, np.random.default_rng(11))
    estimates = (support - users * law.q) / (law.p - law.q)
    assert fits(estimates, held, law.variance(held, users))
    assert not fits(estimates, held, law.variance(held, users) * 1.1)
    correlation = np.corrcoef(estimates, rowvar=False) - np.eye(3)
    assert np.abs(correlation).max() < DEVIATIONS / math.sqrt(REPEATS)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_hadamard_sketch_has_its_variance(epsilon):
    """Few rows and cells and a heavy item, so that noise, sampling and collisions all count."""
    sketch = HadamardSketch(epsilon, rows=8, cells=16)
    held, asked = np.array([0, 1, 4, 20, 175]), np.array([0, 2, 4])
    rng = np.random.default_rng(5)
    estimates = np.array([sketch.estimate(held, asked, rng) for _ in range(10_000)])
    variance = sketch.variance(held[asked], float((held**2).sum()), 200)
    assert fits(estimates, held[asked], variance)
    for wrong in (0.9, 1.1):
        assert not fits(estimates, held[asked], variance * wrong)


def test_optimised_protocols_have_the_variance_of_their_papers():
    """4 exp(epsilon) / (exp(epsilon) - 1)^2 a user for an absent item; an integer g costs a little."""
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        best = 4 * math.exp(epsilon) / (math.exp(epsilon) - 1) ** 2
        assert baselines.optimised_unary(epsilon).variance(0, 1) == pytest.approx(best)
        assert 1 <= baselines.local_hashing(epsilon).variance(0, 1) / best < 1.01
        assert baselines.unary(epsilon).variance(0, 1) > best


def test_prefixes_grow_by_valid_letters_only():
    prefixes = data.codes_of(["ab", "a"]) >> np.uint64(20)
    grown = baselines.extended(prefixes, 2)
    assert len(grown) == len(set(grown.tolist())) == 26 * 27 + 1 + 1
    words = {data.word_of(int(code) << 10) for code in grown}
    assert {"a", "ab", "abz", "abzz"} <= words
    assert all(word == "a" or word.startswith("ab") for word in words)


@pytest.mark.parametrize("method", BASELINES)
def test_a_baseline_finds_what_is_heavy(method):
    campaign = Campaign("zipf", 1_000_000, 4.0, 1)
    found = quality(campaign, BASELINES[method](campaign))
    assert found["heavy"] == 9
    assert found["recall"] >= 8 / 9
    assert found["precision"] >= 8 / 9
    assert found["relative_error"] < 0.05


def test_quality_counts_hits_and_false_alarms():
    campaign = Campaign("zipf", 1_000_000, 1.0, 1)
    truth = campaign.truth
    first, second, *_, last = truth
    found = quality(
        campaign, {first: truth[first] * 1.1, second: truth[second] * 0.7, last: 1.0, "absent": 2.0}
    )
    assert (found["precision"], found["recall"]) == (0.5, 2 / 9)
    assert found["relative_error"] == pytest.approx(0.2)
    assert found["least_count"] == 0
    nothing = quality(campaign, {})
    assert (nothing["precision"], nothing["recall"], nothing["f1"]) == (1, 0, 0)
    assert nothing["relative_error"] is None


def test_a_simulated_campaign_can_be_drawn_again():
    campaign = Campaign("zipf", 20_000, 4.0, 3)
    published, _ = simulate(PRODUCTS["Bitstogram"], campaign)
    assert published == simulate(PRODUCTS["Bitstogram"], campaign)[0]
    assert quality(campaign, published)["precision"] == 1


def test_the_comparison_runs(tmp_path):
    main(["--quick", "--folder", str(tmp_path)])
    results = json.loads((tmp_path / "results.json").read_text())
    assert [row["method"] for row in results["rows"]] == list(METHODS)
    assert all(row["recall"] >= 0.5 and row["precision"] >= 0.75 for row in results["rows"])
    assert (tmp_path / "README.md").read_text() == page(None, results)
    assert {path.stem for path in (tmp_path / "figures").iterdir()} >= {
        "recall",
        "relative_error",
        "variance",
    }


@pytest.fixture(scope="module")
def stored():
    required, compared = (
        json.loads((FOLDER / f"{name}.json").read_text()) for name in ("required", "results")
    )
    assert (FOLDER / "README.md").read_text() == page(required, compared)
    return required, {_setting(row): row for row in compared["rows"]}


def _setting(row):
    return row["method"], row["data"], row["users"], row["epsilon"]


@pytest.mark.parametrize("bound", BOUNDS, ids=str)
def test_what_must_be_reached_was(stored, bound):
    """Means of ten campaigns of ten million users, as stored."""
    required = stored[0]
    assert (required["users"], required["seeds"]) == (10_000_000, 10)
    (row,) = [
        row
        for row in required["rows"]
        if (row["method"], row["data"], row["epsilon"]) == (bound.method, bound.data, bound.epsilon)
    ]
    assert row["precision"] >= bound.precision
    assert row["recall"] >= bound.recall
    assert row["least_count"] >= LEAST_COUNT
    assert row["holds"]


def test_what_the_comparison_found(stored):
    """At 10M users TreeHist errs less than PEM, which searches too, and than one-bit sketches of a list."""
    rows = stored[1]
    assert len(rows) == len(METHODS) * 2 * 3 * 4
    for name in ("words", "zipf"):
        for epsilon in (1.0, 2.0, 4.0):
            tree, pem = (rows[method, name, 10_000_000, epsilon] for method in ("TreeHist", "PEM with OLH"))
            assert tree["f1"] > 0.9
            assert tree["relative_error"] < pem["relative_error"]
        for epsilon in (2.0, 4.0):
            tree, sketch = (rows[method, name, 10_000_000, epsilon] for method in ("TreeHist", "HCMS, list"))
            assert tree["relative_error"] < sketch["relative_error"]


@pytest.mark.parametrize("name", TABLES)
def test_pages_show_the_figures_that_were_measured(name):
    required = json.loads((FOLDER / "required.json").read_text())
    text = (FOLDER.parents[1] / "docs" / name).read_text()
    assert with_figures(text, name, required) == text
    assert figures_table(name, required) in text
    changed = {**required, "rows": [{**row, "precision": 0.5} for row in required["rows"]]}
    assert with_figures(text, name, changed) != text


@pytest.mark.parametrize("response", RESPONSES)
def test_a_count_sketch_without_hadamard_has_its_variance(response):
    """Also with few cells, where other items fall into the item's own; frequent ones are found."""
    made = RESPONSES[response](2.0)
    sketch = CountSketch(made.shown, made.other, made.signed, rows=1, cells=64)
    held, rng = np.array([4000, 500, 500, 0]), np.random.default_rng(3)
    drawn = np.array([sketch.estimate(held, np.arange(4), 1.0, rng) for _ in range(4000)])
    others = ((held**2).sum() - held**2) / 64 * (1 if made.signed else 64 / 63)
    own = sketch.shown * (1 - sketch.shown) / (sketch.shown - sketch.other) ** 2
    noise = sketch.variance * (held.sum() - held) + own * held
    variance = noise * (1 if made.signed else (64 / 63) ** 2) + others
    assert np.abs(drawn.mean(axis=0) - held).max() < 6 * math.sqrt(variance.max() / 4000)
    assert drawn.var(axis=0)[[0, 3]] == pytest.approx(variance[[0, 3]], rel=0.25)


def test_the_response_of_a_row_is_private():
    """Two items differ in two cells: exp(epsilon) with signs and a fair coin, or with two flipped bits."""
    for epsilon in (0.5, 1.0, 2.0):
        signs, bits = with_signs(epsilon), with_bits(epsilon)
        coin = signs.shown / 0.5 * 0.5 / (1 - signs.shown)
        flips = (bits.shown / (1 - bits.shown)) ** 2
        assert math.log(coin) == pytest.approx(epsilon)
        assert math.log(flips) == pytest.approx(epsilon)
        assert bits.other == pytest.approx(1 - bits.shown)


def test_a_small_search_without_hadamard_finds_who_holds_much():
    campaign = Campaign("zipf", 2_000_000, 20.0, 1)
    found = quality(campaign, tree_hist(CountSketch(1.0, 0.5, True, rows=15), campaign))
    assert found["recall"] > 0.5
    assert found["precision"] > 0.9


def test_the_page_of_the_count_sketch_says_what_was_measured():
    rows = json.loads((FOLDER / "count_sketch.json").read_text())
    assert (FOLDER / "count_sketch.md").read_text() == count_sketch_page(rows)
    for row in rows:
        assert abs(row["recall"] - EXPECTED[row["data"]]) < 0.15
        assert row["recall"] < PRINTED[row["data"]][1] - 0.2
