"""All keys together that a table does not show: the number, its interval, and where it stands."""

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.accounting.filter import Filter
from hushcount.accounting.ledger import Ledger
from hushcount.cli.main import main
from hushcount.errors import BudgetExceeded, ParameterError
from hushcount.jobs.exact import CountsOnDisk
from hushcount.mechanisms.total import TotalRelease, WithTotal
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.releases.other import NoisyTotal, OtherKeys
from hushcount.shapes import ExactCounts, Public

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
EVENTS = ["other"] * 900 + ["tea"] * 500 + [f"rare {place}" for place in range(700)]
USERS = pa.table(
    {"user": [place // 4 for place in range(2000)], "key": [f"k{place % 7}" for place in range(2000)]}
)


def test_a_key_called_other_stays_a_key_in_every_format(tmp_path, capsys):
    path = tmp_path / "events.csv"
    path.write_text("\n".join(["key", *EVENTS]) + "\n")
    asked = ["top", str(path), "--epsilon", "1", "--delta", "1e-6", "--other"]
    outputs = [str(tmp_path / f"top{ending}") for ending in (".json", ".csv", ".parquet")]
    for output in outputs:
        assert main([*asked, "--output", output]) == 0
        printed, said = capsys.readouterr()
        assert [line.split("\t")[0] for line in printed.splitlines()] == ["key", "other", "tea"]
        assert "All other keys together: " in said
    values = json.loads((tmp_path / "top.json").read_text())
    assert [row["key"] for row in values["rows"]] == ["other", "tea"]
    assert set(values["other"]) == {"count", "lower", "upper"}
    assert values["other"]["count"] == values["total"]["value"] - sum(values["counts"])
    rows = list(csv.reader(io.StringIO((tmp_path / "top.csv").read_text())))
    assert [row[0] for row in rows] == ["key", "other", "tea"]
    table = pq.read_table(tmp_path / "top.parquet")
    assert table["key"].to_pylist() == ["other", "tea"]
    assert "other" in json.loads(table.schema.metadata[b"hushcount"])


def test_what_people_see(tmp_path, capsys):
    path = tmp_path / "events.csv"
    path.write_text("\n".join(["key", *EVENTS]) + "\n")
    asked = ["top", str(path), "--epsilon", "1", "--delta", "1e-6", "--other"]
    assert main([*asked, "--table", "--report", str(tmp_path / "top.html")]) == 0
    printed, said = capsys.readouterr()
    foot = " ".join(printed.split("All other keys together: ")[1].split())
    assert foot.endswith("with confidence 0.95).")
    assert "This is a noisy total less the counts shown; a negative difference is shown as 0." in said
    page = (tmp_path / "top.html").read_text()
    assert page.count('class="other">All other keys together: ') == 1
    release = hc.read_release(hc.top(EVENTS, other=True, **BUDGET).to_json().encode())
    assert "All other keys together: " in repr(release)
    assert "All other keys together: " in release._repr_html_()
    assert main([*asked, "--dry-run"]) == 0
    assert "with a noisy total" in capsys.readouterr().out


def published(count, value, confidence=0.95):
    """A table of one key with a bounded noise, and a total of scale 20."""
    shape = ExactCounts([(pa.array(["a"]), np.array([count]))])
    mechanism = TotalRelease(Budget(1.0, 1e-6), Public(moved=1, shape=ExactCounts))
    whole = mechanism.release(WithTotal(shape, count), SeededBits(1)).at_confidence(confidence)
    return whole._with(total=NoisyTotal(value, DiscreteLaplace(0.05)))


def test_the_number_and_its_interval():
    release = published(500, 800)
    below, above = release.accuracy().simultaneous_below, release.accuracy().simultaneous_above
    count, width = release.counts[0].as_py(), DiscreteLaplace(0.05).two_sided(0.025)
    assert width == 74
    assert release.other == OtherKeys(800 - count, 800 - 74 - count - above, 800 + 74 - (count - below))


def test_a_negative_difference_is_zero():
    release = published(500, -40)
    assert release.other == OtherKeys(0, 0, 0)
    assert release.total.value == -40
    assert hc.read_release(release.to_json().encode()).total == release.total


def test_rows_that_are_cut_are_other_keys():
    release = hc.top(EVENTS, other=True, **BUDGET)
    shown = release.limit(1)
    assert shown.other.count == release.total.value - release.counts[0].as_py()
    assert shown.other.count - release.other.count == release.counts[1].as_py()


def test_without_a_total_there_is_no_number():
    release = hc.top(EVENTS, **BUDGET)
    assert (release.other, release.total) == (None, None)
    assert not {"other", "total"} & set(json.loads(release.to_json()))


OPTIONS = {
    "sketch": {},
    "exact": {"exact": True},
    "laplace": {"mechanism": "laplace-threshold"},
    "pmg": {"mechanism": "pmg"},
    "pmg, bounded": {"mechanism": "pmg", "max_events": 5000},
    "dpss": {"mechanism": "dpss", "max_events": 5000},
    "domain": {"delta": 0, "domain": ["other", "tea", "rare 1"], "counters": 64},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_the_interval_holds_for_events(name):
    """Of 60 releases at confidence 0.9, at most 15 may miss: 1 in 10,000 if each misses with 0.1."""
    asked = {**BUDGET, **OPTIONS[name]}
    every = [key for key in EVENTS if "domain" not in asked or key in asked["domain"]]
    missed = 0
    for _ in range(60):
        release = hc.top(EVENTS, other=True, confidence=0.9, **asked)
        shown = set(release.table["key"].to_pylist())
        true = sum(key not in shown for key in every)
        missed += not release.other.lower <= true <= release.other.upper
        assert hc.verify(release.to_json().encode()).holds
    assert missed <= 15


@pytest.mark.parametrize(
    "options",
    [
        {"max_keys": 2},
        {"max_keys": 4},
        {"max_keys": 4, "counters": 64},
        {"max_keys": 2, "counters": 64, "mechanism": "floor"},
        {"max_keys": 3, "keep_duplicates": True},
        {"max_keys": 2, "min_users": 20},
    ],
)
def test_users_are_counted_by_pairs_that_are_kept(options):
    release = hc.top(USERS, column="key", user="user", other=True, confidence=1 - 1e-9, **options, **BUDGET)
    pairs = min(options["max_keys"], 4) * 500
    width = release.total.noise.two_sided(1e-9)
    assert abs(release.total.value - pairs) <= width
    assert float(release.total.noise.exact_epsilon) == pytest.approx(0.05 / options["max_keys"])
    assert release.other.lower <= pairs <= release.other.upper + sum(release.counts.to_pylist()) + width
    assert hc.verify(release.to_json().encode()).holds


@pytest.mark.parametrize("keys", [["a", None, "b", "a"], [1, 2, None, None]])
def test_the_total_on_disk_is_the_sum_of_all_counts(keys):
    from hushcount.sources.open import open_source

    sketch = CountsOnDisk()
    sketch.read(open_source(pa.table({"key": keys}), column="key"), None)
    counts = [int(counts.sum()) for _, counts in sketch.shape().blocks]
    assert (sum(counts), sketch.total) == (len(keys) - keys.count(None),) * 2


def test_a_ledger_is_charged_once_for_table_and_total(tmp_path):
    ledger = tmp_path / "events.db"
    Ledger(str(ledger)).init("events", Filter.fixed(1, "2e-6"), "event")
    asked = {"ledger": ledger, "dataset": "events", "run_id": "one", "other": True}
    first = hc.top(EVENTS, **asked, **BUDGET)
    again = hc.top(EVENTS, **asked, **BUDGET)
    assert again.to_json() == first.to_json()
    with pytest.raises(BudgetExceeded):
        hc.top(EVENTS, **{**asked, "run_id": "two"}, **BUDGET)
    assert hc.verify(first.to_json().encode(), ledger=ledger).holds


def test_a_sum_of_releases_has_no_total():
    parties = [hc.top(EVENTS, other=True, **BUDGET) for _ in range(2)]
    added = hc.add_releases(parties)
    assert added.total is None
    assert hc.read_release(added.to_json().encode()).to_json() == added.to_json()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"other_share": 0.1}, "other_share is what the noisy total takes of epsilon, so it needs other."),
        ({"other": True, "other_share": 1}, "other_share must be strictly between 0 and 1, got 1."),
        (
            {"other": True, "user": "user", "max_keys": "auto"},
            "other cannot be combined with max_keys = auto; leave out one of them.",
        ),
        (
            {"other": True, "user": "user", "max_keys": 2, "epsilon": None, "rho": 0.1},
            "other cannot be combined with rho: the noise of its total is not Gaussian; give epsilon and"
            " delta.",
        ),
    ],
)
def test_refusals(options, sentence):
    with pytest.raises(ParameterError) as refused:
        hc.top(USERS, column="key", **{**BUDGET, **options})
    assert str(refused.value) == sentence


def test_a_plan_tells_what_the_total_costs():
    with_total, alone = (hc.plan(1_000_000, other=other, **BUDGET) for other in (True, False))
    assert with_total.other_error == 60
    assert (
        "The noisy total of all keys is within 60 of the truth with confidence 0.95." in with_total.sentences
    )
    assert with_total.expected_keys < alone.expected_keys
    assert (alone.other_error, with_total.mechanism) == (None, alone.mechanism)
