"""The error of a local release: the count from which an item is found, and its sentence."""

import math
from statistics import NormalDist

import pytest

from hushcount.ldp.server.local_error import LocalError
from hushcount.ldp.wire.response import OracleError, ResponseDistribution

RESPONSE = ResponseDistribution.of("2", 3)
ORACLE = OracleError(RESPONSE, 10_000, 10_000)


def final(count, cut):
    """The probability that the final estimate of a count reaches a cut."""
    return NormalDist().cdf((count - cut) / math.sqrt(RESPONSE.variance(count, 10_000, 10_000)))


def test_one_comparison_is_the_normal_quantile():
    error = LocalError(ORACLE, 0.0, 0, (10_000.0,), (800.0,))
    for probability in (0.6, 0.95, 0.999):
        least = error.found_from(probability)
        assert final(least, 800) >= probability > final(least - 1, 800)


def test_every_comparison_gets_its_part_of_the_failure():
    """Of two, the one with a tenth of the reports decides, at half of the failure."""
    error = LocalError(ORACLE, 0.0, 0, (1000.0, 10_000.0), (800.0, 800.0))
    least = error.found_from(0.95)
    chances = [
        NormalDist().cdf((count - 800) / math.sqrt(RESPONSE.variance(count, 10_000, 1000)))
        for count in (least, least - 1)
    ]
    assert chances[0] >= 0.975 > chances[1]


def test_nothing_is_promised_if_no_count_is_found_surely_or_steps_are_unknown():
    assert LocalError(ORACLE, 0.0, 0, (10_000.0,), (9_999.0,)).found_from(0.95) is None
    assert LocalError(ORACLE, 0.0, 0, (10_000.0,), (20_000.0,)).found_from(0.95) is None
    assert LocalError(ORACLE, 0.0, 0).found_from(0.95) is None
    assert not any("would have been found" in each for each in LocalError(ORACLE, 0.0, 0).sentences(0.95))


def test_the_sentence_is_at_least_as_sure_as_reliable():
    error = LocalError(ORACLE, 0.0, 0, (10_000.0,), (800.0,))
    for confidence, probability in ((0.5, 0.95), (0.95, 0.95), (0.99, 0.99)):
        assert error.sentences(confidence)[-1] == (
            f"An item that at least {error.found_from(probability):,} users hold would have been found with"
            f" probability {probability:g} or more (normal approximation)."
        )


@pytest.mark.parametrize(
    ("asked", "cuts"),
    [((1.0,), None), ((0.0,), (1.0,)), ((10_001.0,), (1.0,)), ((1.0,), (math.inf,)), ((1.0, 2.0), (1.0,))],
)
def test_comparisons_of_a_file_that_cannot_be(asked, cuts):
    with pytest.raises(ValueError, match="asked"):
        LocalError(ORACLE, 0.0, 0, asked, cuts)
