"""The two laws of noise: probabilities, tails, quantiles and exact samples, each formula once.

Both are symmetric laws on the integers, with the same methods. Parameters are taken exactly, as rationals.
"""

from hushcount.mechanisms._gaussian import DiscreteGaussian
from hushcount.mechanisms._laplace import DiscreteLaplace

__all__ = ["DiscreteGaussian", "DiscreteLaplace"]
