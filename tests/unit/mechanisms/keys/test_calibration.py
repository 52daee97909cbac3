"""Noise and thresholds of key selection: they grow as budgets shrink, and refuse what cannot be drawn."""

import numpy as np
import pytest

from hushcount.errors import ParameterError
from hushcount.mechanisms.keys import calibration
from hushcount.noise.gaussian import gaussian_delta


def test_smaller_budgets_need_more_noise_and_larger_sets_a_higher_threshold():
    wide, narrow = (
        calibration.several_rounds(epsilon, 1e-6, 10, calibration.STEERED) for epsilon in (0.5, 1.0)
    )
    assert [one.sigma for one in wide] > [one.sigma for one in narrow]
    few, many = (calibration.one_round(1.0, 1e-6, largest)[0] for largest in (1, 50))
    assert few.sigma == many.sigma
    assert few.threshold < many.threshold


def test_the_divergence_of_normal_distributions():
    found = gaussian_delta(np.array([0.0, 0.1, 1.0]), 1.0)
    assert found[0] == 0
    assert found[2] == pytest.approx(0.126936737506, rel=1e-9)
    mu = calibration.largest_mu(1.0, 1e-6)
    assert float(gaussian_delta(np.array(mu), 1.0)) == pytest.approx(1e-6, rel=1e-6)


def test_an_epsilon_whose_noise_cannot_be_drawn_is_refused():
    with pytest.raises(ParameterError) as error:
        calibration.one_round(1e-7, 1e-9, 2)
    assert str(error.value) == "epsilon is too small: sigma would exceed 1e+08."
