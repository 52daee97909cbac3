"""`hc.keys`: from data to keys without counts, for users and for events; whole sentences of refusals."""

import json
from functools import partial

import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.accounting.filter import Filter
from hushcount.accounting.ledger import Ledger
from hushcount.cli.main import main
from hushcount.errors import BudgetExceeded, DataError, ParameterError
from hushcount.jobs.keys import UserSets
from hushcount.mechanisms.keys.calibration import weights
from hushcount.privacy import USER
from hushcount.releases.key_list import KeyList
from hushcount.shapes import KeySets

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
USERS = pa.table(
    {
        "user": [user for user in range(300) for _ in range(4)],
        "key": [
            key
            for user in range(300)
            for key in ("tea", "milk", f"own {user}", "salt" if user < 3 else "rice")
        ],
    }
)


@pytest.mark.parametrize("method", [None, "steered", "sips", "weighted"])
def test_keys_of_many_users_are_published_and_those_of_few_are_not(method):
    found = hc.keys(USERS, column="key", user="user", method=method, **BUDGET)
    assert isinstance(found, KeyList)
    assert found.table.to_pydict() == {"key": ["milk", "rice", "tea"]}
    assert found.guarantee.unit.name == "user"
    named = {None: "steered", "sips": "DP-SIPS", "weighted": "weighted Gaussian"}.get(method, "steered")
    assert found.guarantee.mechanism == f"{named} key selection"
    assert "Of each user at most 1000 different keys are kept, picked by a keyed hash." in found.notes


def test_events_go_by_the_truncated_geometric():
    found = hc.keys(["tea"] * 50 + ["milk"] * 60 + ["salt"], **BUDGET)
    assert found.table.to_pydict() == {"key": ["milk", "tea"]}
    assert found.guarantee.mechanism == "private weighted sampling of keys"
    assert found.guarantee.unit.name == "event"


def test_events_are_counted_on_disk_in_bounded_memory(monkeypatch):
    """Two million different keys in 64 MB of DuckDB, none of which is kept in a table in memory."""
    from hushcount.sketches import exact
    from hushcount.sources.duckdb import counted

    small = partial(counted.counted_keys, memory="64MB")
    monkeypatch.setattr("hushcount.jobs.exact.counted_keys", small)
    monkeypatch.setattr(exact.Exact, "update", lambda self, keys: pytest.fail("counted in memory"))
    names = pa.array(range(2_000_000)).cast(pa.string())
    table = pa.table({"key": pa.chunked_array([names, *[names.slice(7, 1)] * 60])})
    found = hc.keys(table, column="key", epsilon=1.0, delta=1e-9)
    assert found.table.to_pydict() == {"key": ["7"]}
    assert found.made.recipe["summary"] == "exact-counts"


@pytest.mark.parametrize(
    ("keys", "published"),
    [([3] * 60, [3]), (["é"] * 60, ["é"]), ([None] * 200_000 + [5] * 60 + [None] * 200_000, [5]), ([], [])],
)
def test_keys_of_an_iterable_keep_their_type(keys, published):
    assert hc.keys(keys, **BUDGET).table.to_pydict() == {"key": published}
    assert hc.top(keys, exact=True, **BUDGET).table["key"].to_pylist() == published


def test_a_release_of_keys_is_read_back_verified_and_reported(tmp_path):
    found = hc.keys(
        USERS, column="key", user="user", output=tmp_path / "k.json", report=tmp_path / "k.html", **BUDGET
    )
    stored = json.loads((tmp_path / "k.json").read_text())
    assert (stored["kind"], "counts" in stored) == ("key-list", False)
    assert stored["rows"] == [{"key": "milk"}, {"key": "rice"}, {"key": "tea"}]
    again = hc.read_release(tmp_path / "k.json")
    assert (type(again), again) == (KeyList, found)
    checked = hc.verify(tmp_path / "k.json")
    assert checked.holds
    assert "There are no counts to compare with a threshold." in [one.sentence for one in checked.findings]
    page = (tmp_path / "k.html").read_text()
    assert "Keys that exist in the data" in page
    assert "without any count" in page
    found.write(tmp_path / "k.csv")
    assert (tmp_path / "k.csv").read_text().split() == ['"key"', '"milk"', '"rice"', '"tea"']
    assert "KeyList of 3 rows" in repr(found)
    with pytest.raises(ParameterError) as error:
        hc.add_releases([found, again])
    assert str(error.value).startswith("releases must be tables with counts to be added, got a list of keys")


def test_a_forged_list_of_keys_is_refused():
    found = hc.keys(USERS, column="key", user="user", **BUDGET)
    forged = found._with(
        guarantee=found.guarantee.__class__(
            **{name: getattr(found.guarantee, name) for name in found.guarantee.__slots__} | {"epsilon": 0.1}
        )
    )
    assert not hc.verify(forged.to_json().encode()).holds


def test_a_ledger_is_charged_once_for_one_question(tmp_path):
    ledger = tmp_path / "people.db"
    Ledger(str(ledger)).init("people", Filter.fixed(1, "2e-6"), "user")
    asked = {"column": "key", "user": "user", "ledger": ledger, "dataset": "people", "run_id": "one"}
    first = hc.keys(USERS, **asked, **BUDGET)
    assert hc.keys(USERS, **asked, **BUDGET).to_json() == first.to_json()
    with pytest.raises(BudgetExceeded):
        hc.keys(USERS, **{**asked, "run_id": "two"}, **BUDGET)


def test_the_command_prints_keys_and_tells_beforehand_what_it_would_do(tmp_path, capsys):
    path = tmp_path / "visits.csv"
    path.write_text(
        "\n".join(["user,key", *(f"{u},{k}" for u, k in zip(*USERS.to_pydict().values(), strict=True))])
    )
    asked = ["keys", str(path), "--column", "key", "--user", "user", "--epsilon", "1", "--delta", "1e-6"]
    assert main(asked) == 0
    out, err = capsys.readouterr()
    assert out.split() == ["key", "milk", "rice", "tea"]
    assert "Protects one user" in err
    assert main([*asked, "--dry-run"]) == 0
    assert "steered key selection" in capsys.readouterr().out
    assert main([*asked, "--max-keys", "0"]) != 0
    assert "--max-keys must be at least 1, got 0." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"max_keys": 3}, "max_keys limits the keys of each user, so it needs user, a column."),
        ({"method": "sips"}, "method needs user, a column: it spreads the weight of each user over keys."),
        ({"user": "user", "max_keys": 0}, "max_keys must be at least 1, got 0."),
        ({"user": "user", "method": "best"}, "method must be one of steered, sips, weighted, got best."),
        ({"user": "who"}, "Column 'who' is not in the table; it has: user, key."),
        ({"delta": 0}, "delta must be strictly between 0 and 1, got 0."),
    ],
)
def test_refusals(options, sentence):
    with pytest.raises((ParameterError, DataError)) as refused:
        hc.keys(USERS, column="key", **{**BUDGET, **options})
    assert str(refused.value) == sentence


def test_public_numbers_of_sets_do_not_change():
    sets = UserSets(7)
    before = sets.public()
    sets.update(pa.StructArray.from_arrays([pa.array([1, 1, 2]), pa.array(["a", "b", "a"])], ["user", "key"]))
    assert sets.public() == before == sets.shape().public()
    assert (before.moved, before.shape, before.unit, before.unit.rows) == (7, KeySets, USER, 7)
    assert sets.total == 3
    found = [(keys.to_pylist(), sums.tolist()) for keys, sums in sets.shape().sums(weights(7), None)]
    assert found == [(["a", "b"], [724 + 1024, 724])]
