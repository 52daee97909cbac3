"""What Cohen et al. 2021 claims of its figures, on the regenerated numbers."""

from __future__ import annotations

import pytest
from experiments.sampling.claims import FIGURES


@pytest.mark.parametrize("figure", FIGURES)
def test_claims_of_the_figure(figure):
    assert all(list(FIGURES[figure]()))
