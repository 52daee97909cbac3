"""The simulated year of daily tables: it runs at any size, and the stored page says what it found."""

import json
from pathlib import Path

from experiments.continual.page import page, picture
from experiments.continual.run import main

FOLDER = Path(__file__).parents[2] / "experiments" / "continual"


def test_it_runs_at_any_size(tmp_path):
    main(["--events", "200000", "--places", "20000", "--days", "60", "--folder", str(tmp_path)])
    results = json.loads((tmp_path / "results.json").read_text())
    assert (tmp_path / "README.md").read_text() == page(results)
    nights, toeplitz, gate = results["rows"].values()
    assert gate["recall"] > 0.99
    assert nights["published"] < toeplitz["published"] < gate["published"]
    assert results["covered"] > 0.95


def test_the_stored_page_says_what_was_found():
    results = json.loads((FOLDER / "results.json").read_text())
    assert (FOLDER / "README.md").read_text() == page(results)
    assert (FOLDER / "year.svg").read_text() == picture(results)
    assert results["events"] == 36_500_000
    nights, toeplitz, gate = results["rows"].values()
    assert gate["recall"] > 0.999
    assert gate["published"] > 3 * toeplitz["published"] > 30 * nights["published"]
    assert gate["error"] < toeplitz["error"] < nights["error"]
    assert results["covered"] > 0.95
