"""The oracles themselves, against the vectors of the specification."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests import reference

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "space_saving.json").read_text())[
    "space_saving"
]


@pytest.mark.parametrize("index", range(len(VECTORS)))
def test_space_saving_equals_the_vectors(index: int) -> None:
    vector = VECTORS[index]
    counts, floor, next_evicted = reference.space_saving(vector["stream"], vector["counters"])
    assert {str(key): count for key, count in counts.items()} == vector["counts"]
    assert (floor, next_evicted) == (vector["floor"], vector["next_evicted"])


@pytest.mark.parametrize("vector", VECTORS[:10], ids=range(10))
def test_estimates_bound_the_truth(vector: dict[str, list[int]]) -> None:
    true = reference.exact(vector["stream"])
    counts, floor, _ = reference.space_saving(vector["stream"], vector["counters"])
    heights, decrements = reference.misra_gries(vector["stream"], vector["counters"])
    for key, count in true.items():
        assert counts.get(key, floor) - floor <= count <= counts.get(key, floor)
        assert heights.get(key, 0) <= count <= heights.get(key, 0) + decrements
