"""Linear sketches sized for an error: as few cells as keep it, and refusals (whole texts)."""

import math

import pytest

import hushcount as hc
from hushcount.errors import ParameterError
from hushcount.keys.row_hash import at_least_half
from hushcount.sketches.sizes import size_for

ERRORS = (0.5, 0.1, 0.01, 0.001)
FAILURES = (0.3, 1e-3, 1e-9)


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("failure", FAILURES)
def test_a_size_keeps_its_promise_and_one_row_fewer_does_not(error, failure):
    depth, width = size_for("count-min", error, failure)
    row = 1 / (error * width)
    assert row**depth <= failure < row ** (depth - 1)
    depth, width = size_for("count-sketch", error, failure)
    row = 1 / (error**2 * width)
    assert at_least_half(depth, row) <= failure
    assert depth % 2 == 1
    assert depth == 1 or at_least_half(depth - 2, row) > failure


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("failure", FAILURES)
def test_the_corrected_sizes_of_the_paper_are_not_smaller(error, failure):
    """Holland 2025, Lemma 12, with log2 for ln, and 2/eta cells in a row, rounded up to a power of two."""
    depth, width = size_for("count-min", error, failure)
    printed = math.ceil(math.log2(1 / failure)) * (1 << math.ceil(math.log2(2 / error)))
    assert depth * width <= printed


def test_sketches_are_made_of_that_size():
    sketch = hc.CountMin.for_error(0.01, 1e-6, seed=1, max_weight=1)
    assert isinstance(sketch, hc.CountMin)
    assert (sketch.depth, sketch.width) == size_for("count-min", 0.01, 1e-6)
    assert (sketch.id, sketch.max_weight) == (hc.CountMin(sketch.depth, sketch.width, seed=1).id, 1)
    other = hc.CountSketch.for_error(0.1, 1e-3, partial=True)
    assert (other.depth, other.width, other.partial) == (*size_for("count-sketch", 0.1, 1e-3), True)


@pytest.mark.parametrize("kind", [hc.CountMin, hc.CountSketch])
@pytest.mark.parametrize(
    ("error", "failure", "text"),
    [
        (0, 0.1, "error must be strictly between 0 and 1, got 0."),
        (1, 0.1, "error must be strictly between 0 and 1, got 1."),
        (math.nan, 0.1, "error must be strictly between 0 and 1, got nan."),
        (True, 0.1, "error must be a number, got True."),
        ("1", 0.1, "error must be a number, got '1'."),
        (0.1, 0, "failure must be strictly between 0 and 1, got 0."),
        (0.1, math.inf, "failure must be strictly between 0 and 1, got inf."),
        (0.1, -0.1, "failure must be strictly between 0 and 1, got -0.1."),
    ],
)
def test_bad_numbers_are_refused(kind, error, failure, text):
    with pytest.raises(ParameterError) as refused:
        kind.for_error(error, failure)
    assert str(refused.value) == text


@pytest.mark.parametrize(("kind", "error"), [("count-min", 1e-8), ("count-sketch", 1e-4)])
def test_an_error_that_needs_too_many_cells_is_refused(kind, error):
    with pytest.raises(ParameterError) as refused:
        size_for(kind, error, 0.1)
    assert str(refused.value) == (
        f"error must be larger for {kind}, got {error:g}: a row would need more than 67108864 cells."
    )
