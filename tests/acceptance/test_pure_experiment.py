"""Releases with delta = 0 against noise for all counters: it runs, and the stored page says what it found."""

import json
from pathlib import Path

from experiments.pure.run import BEST, main, page

FOLDER = Path(__file__).parents[2] / "experiments" / "pure"


def test_it_runs_at_any_size(tmp_path):
    main(["--events", "20000", "--counters", "128", "--runs", "1", "--folder", str(tmp_path)])
    results = json.loads((tmp_path / "results.json").read_text())
    assert len(results["rows"]) == 9
    assert (tmp_path / "README.md").read_text() == page(results)


def test_what_was_found():
    """Noise for all counters hides all but the most frequent keys."""
    results = json.loads((FOLDER / "results.json").read_text())
    assert (FOLDER / "README.md").read_text() == page(results)
    rows = {(row["method"], row["epsilon"]): row for row in results["rows"]}
    for epsilon in (0.1, 1.0, 4.0):
        chan, *ours = (rows[method, epsilon] for method in ("chan, whole domain", "pure", "pure-bounded"))
        for own in ours:
            assert own["root_mean_squared_error"] < chan["root_mean_squared_error"]
            assert own["published"] >= chan["published"]
        assert ours[0]["published"] > 3 * chan["published"]
    assert rows["chan, whole domain", 0.1]["published"] < BEST / 20
