"""The sum of two discrete Gaussians: its tail is the convolution, in both of its forms."""

import numpy as np
import pytest

from hushcount.noise.gaussian import DiscreteGaussian, GaussianSum


@pytest.mark.parametrize(("own", "shared"), [(0.7, 0.4), (3.0, 0.3), (2.1, 14.0), (9.0, 2.5), (1.2, 1.2)])
def test_the_tail_is_that_of_the_convolution(own, shared):
    both = GaussianSum(own, shared)
    n = np.arange(-400, 401)
    masses = np.asarray(DiscreteGaussian(shared).pmf(n))
    for m in (-20, -1, 0, 1, 2, 7, 30):
        exact = float(masses @ np.asarray(DiscreteGaussian(own).tail(m - n)))
        assert float(both.tail(m)) == pytest.approx(exact, rel=1e-12, abs=1e-60)


def test_far_out_the_tail_is_bounded_and_quantiles_are_found():
    assert 0 < GaussianSum(0.5, 0.5).tail(15) < 1e-80
    assert GaussianSum(3, 4).two_sided(0.05) == 10
    assert [law.sigma for law in GaussianSum(3, 4).parts] == [3, 4]
