"""The comparison of floor release and error envelopes: it runs, and the stored page says what it found."""

import json
from pathlib import Path

import pytest
from experiments.linear.page import page
from experiments.linear.run import main

FOLDER = Path(__file__).parents[2] / "experiments" / "linear"


def test_it_runs_at_any_size(tmp_path):
    main(["--events", "200000", "--counters", "512", "--share", "50", "--folder", str(tmp_path)])
    results = json.loads((tmp_path / "results.json").read_text())
    assert len(results["rows"]) == 18
    assert (tmp_path / "README.md").read_text() == page(results)
    floors = [row for row in results["rows"] if (row["stream"], row["method"]) == ("additions", "floor")]
    assert all(row["recall"] > 0.5 for row in floors if row["epsilon"] >= 1)


@pytest.fixture
def stored():
    results = json.loads((FOLDER / "results.json").read_text())
    assert (FOLDER / "README.md").read_text() == page(results)
    assert results["settings"]["events"] == 10_000_000
    return {(row["stream"], row["epsilon"], row["method"]): row for row in results["rows"]}


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("envelope", ["count-min-envelope", "count-sketch-envelope"])
def test_what_was_found(stored, epsilon, envelope):
    """Without deletions the floor release publishes more keys, smaller and faster; with them it is wrong."""
    floor, other = stored["additions", epsilon, "floor"], stored["additions", epsilon, envelope]
    assert floor["recall"] == floor["precision"] == 1
    assert floor["published"] > 2 * other["published"]
    assert floor["memory_mb"] < other["memory_mb"]
    assert floor["m_updates_s"] > other["m_updates_s"]
    assert floor["relative_error"] < other["relative_error"]
    floor, other = stored["turnstile", epsilon, "floor"], stored["turnstile", epsilon, envelope]
    assert floor["precision"] < 0.6
    assert other["precision"] > 0.95
    assert other["recall"] == 1
