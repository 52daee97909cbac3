"""The comparison of private trees with the exact one, at a size for tests."""

import json

import pytest
from experiments.hierarchy.run import main
from tests.seeded_bits import SeededBits


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hierarchy")
    options = ("--flows", "600000", "--counters", "4096", "--share", "0.005", "--folder", str(folder))
    results = main(options, SeededBits(5))
    assert json.loads((folder / "results.json").read_text()) == results
    assert "## Height 32" in (folder / "README.md").read_text()
    return {(row["method"], row["height"], row["epsilon"]): row for row in results["rows"]}


@pytest.mark.parametrize("epsilon", [1.0, 10.0])
@pytest.mark.parametrize("height", [4, 32])
def test_the_exact_nodes_are_published(rows, height, epsilon):
    assert rows["offline", height, epsilon]["f1"] > 0.85
    assert rows["streaming", height, epsilon]["recall"] > 0.8


def test_errors_and_coverage_are_small(rows):
    for (method, _, epsilon), row in rows.items():
        assert row["largest_relative_error"] < 1 / epsilon / 4
        assert row["missed_over_threshold"] < (600 if method == "streaming" else 300) / epsilon
        assert row["true_total_in_interval"] > 0.75


def test_residuals_and_children_add_up(rows):
    assert all(row["consistent"] > 0.95 for row in rows.values())
