"""Intervals of published rows hold given that the rows were published: exactly, value by value."""

from functools import partial

import numpy as np
import pytest

from hushcount.mechanisms.counters.floor import FloorError
from hushcount.mechanisms.counters.misra_gries import SharedNoiseError
from hushcount.mechanisms.histograms.correlated import CorrelatedError, correlated_noise
from hushcount.mechanisms.histograms.pure import PureError
from hushcount.mechanisms.histograms.truncated_geometric import TruncatedGeometricError
from hushcount.mechanisms.intervals import EstimateError, Selection
from hushcount.noise import tails
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget

LAPLACE, GAUSSIAN, BUDGET = DiscreteLaplace(0.5), DiscreteGaussian(4.3), Budget(0.5, 1e-4)
BOTH = correlated_noise(1.0, 1e-4, 10)
GEOMETRIC = TruncatedGeometricError(BUDGET)
# The error model, P[noise >= m] of one count, and the threshold on the count.
MODELS = {
    "laplace": (EstimateError(LAPLACE, threshold=18, least=0), LAPLACE.tail, 18),
    "gaussian": (EstimateError(GAUSSIAN, threshold=20, least=0), GAUSSIAN.tail, 20),
    "shared": (SharedNoiseError(LAPLACE, 7, 0, threshold=18), partial(tails.difference_tail, 0.5), 18),
    "one end": (SharedNoiseError(LAPLACE, 7, None, threshold=18), partial(tails.difference_tail, 0.5), 18),
    "correlated": (
        CorrelatedError(BOTH.sum, 10, threshold=BOTH.threshold),
        lambda m: BOTH.sum.tail(2 * m),
        BOTH.threshold,
    ),
    "floor": (FloorError(LAPLACE, 0, 7, 18), partial(tails.difference_tail, 0.5), 18),
    "geometric": (
        GEOMETRIC,
        lambda m: GEOMETRIC.noise.cumulative()[
            np.clip(GEOMETRIC.noise.centre - m + 1, 0, GEOMETRIC.noise.largest + 1)
        ],
        GEOMETRIC.noise.centre + 1,
    ),
}
CONFIDENCES = [0.5, 0.9, 0.95, 0.99]


def misses(model, count, confidence, ends=None):
    """P[the lower end is above the count | published], and the same of both ends."""
    error, tail, threshold = MODELS[model]
    shown = np.arange(threshold, max(threshold, count) + 200)
    masses = tail(shown - count) - tail(shown + 1 - count)
    lower, upper = error.row_bounds(shown, confidence) if ends is None else ends(shown)
    above = lower > count
    either = above if upper is None else above | (upper < count)
    return float(masses[above].sum() / masses.sum()), float(masses[either].sum() / masses.sum())


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("model", MODELS)
def test_a_published_row_misses_as_rarely_as_it_says(model, confidence):
    error, _, threshold = MODELS[model]
    failure = 1 - confidence
    each = failure if error.interval(confidence)[1] is None else failure / 2
    for count in range(1, threshold + 60):
        below, both = misses(model, count, confidence)
        # The width above a floor is for one noise, its lower end for two: they share the failure unevenly.
        assert below <= (failure if model == "floor" else each) * (1 + 1e-6)
        assert model == "floor" or both <= failure * (1 + 1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_the_widths_of_a_key_chosen_beforehand_miss_near_the_threshold(model):
    """What this is for: without it far more than 5% of the rows of rare keys miss."""
    error, _, threshold = MODELS[model]
    below, above = error.interval(0.95)

    def unselected(shown):
        return shown - below, None if above is None else shown + above

    assert max(misses(model, count, 0.95, unselected)[1] for count in range(1, threshold)) > 0.5


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("model", MODELS)
def test_from_a_stated_count_on_the_widths_are_those_of_any_key(model, confidence):
    error, _, threshold = MODELS[model]
    shown = np.arange(threshold, threshold + 300)
    below, above = error.interval(confidence)
    lower, upper = error.row_bounds(shown, confidence)
    full = error.full_from(confidence)
    assert (lower[shown >= full] == (shown - below)[shown >= full]).all()
    assert (lower <= np.maximum(shown - below, 1)).all()
    assert full == threshold or lower[shown == full - 1] < full - 1 - below
    assert upper is None or (upper == shown + above).all()
    assert (np.diff(lower) >= 0).all()


def test_lower_ends_of_laplace_noise_fall_to_what_is_certain():
    """Up to ln(2 / 0.05) / 0.5 = 7.4 above the threshold only what is never published is known."""
    for least in (0, 5):
        error = EstimateError(LAPLACE, threshold=18, least=least)
        lower, _ = error.row_bounds(np.arange(18, 60), 0.95)
        assert (lower[:8] == least).all()
        assert lower[8] > least


def test_a_value_that_cannot_be_published_is_no_lower_end():
    lower, _ = GEOMETRIC.row_bounds(np.array([GEOMETRIC.noise.centre + 1]), 0.95)
    assert lower.tolist() == [1]


def test_without_a_threshold_the_ends_are_those_of_a_key_chosen_beforehand():
    lower, upper = EstimateError(LAPLACE).row_bounds(np.array([3, 40]), 0.95)
    assert (lower.tolist(), upper.tolist()) == ([0, 40 - 6], [9, 46])
    assert EstimateError(LAPLACE).full_from(0.95) is None


def test_what_a_sketch_added_lowers_the_end():
    plain = EstimateError(LAPLACE, threshold=100).row_bounds(np.array([100, 150]), 0.95)[0]
    added = EstimateError(LAPLACE, added=30, threshold=100).row_bounds(np.array([100, 150]), 0.95)[0]
    assert added.tolist() == np.maximum(plain - 30, 0).tolist() == [0, 150 - 6 - 30]


def test_ends_over_a_domain_hold_for_all_of_it():
    error = PureError(LAPLACE, 10**6, None)
    lower, upper = error.row_bounds(np.array([5, 100]), 0.95)
    assert upper is None
    assert lower.tolist() == [0, 100 - error.simultaneous(0.95)[0]]
    assert error.sentences(0.95) == (
        "With confidence 0.95 the true counts of all published keys at once are at least count -"
        f" {100 - lower[1]}.",
        "count is a lower estimate; max_events would bound what the sketch left out of it.",
        "A large domain always shows some keys that never occurred: the lower end of such a key is 0.",
    )


def test_selection_takes_the_whole_range_of_tails():
    """Far below the threshold tails are no floats any more, but their ratio is."""
    chosen = Selection(LAPLACE.log_tail, 10**6)
    shown = 10**6 + np.arange(20)
    assert chosen.lower(shown, shown - 6, 0.025).tolist()[:8] == [0] * 8
