"""`hc.tree` in the library: both methods, all kinds of hierarchies, and refusals before anything is read."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.accounting.filter import Filter
from hushcount.accounting.ledger import Ledger
from hushcount.errors import DataError, ParameterError

BUDGET = {"epsilon": 1.0, "delta": 1e-9}
FORBIDDEN = object()
VISITS = (
    ["/shop/tea"] * 9000 + [f"/shop/{item}" for item in range(8000)] + ["/about"] * 7000 + ["/", "secret"]
)


def refusal(data=FORBIDDEN, kind=ParameterError, **options):
    with pytest.raises(kind) as caught:
        hc.tree(data, **{"hierarchy": "path/2", "threshold": 1000, **BUDGET, **options})
    return str(caught.value)


def near(release):
    """(node, parent): residual and total, to the next hundred."""
    rows = release.table.to_pylist()
    return {
        (row["node"], row["parent"]): (round(row["residual"], -2), round(row["total"], -2)) for row in rows
    }


@pytest.mark.parametrize("method", ["offline", "streaming"])
def test_residuals_and_totals(method):
    release = hc.tree(VISITS, hierarchy="path/2", threshold=1000, method=method, **BUDGET)
    assert near(release) == {
        ("/shop", None): (8000, 17000),
        ("/shop/tea", "/shop"): (9000, 9000),
        ("/about/·", None): (7000, 7000),
    }
    bounds = ["lower", "upper", "near_threshold"]
    assert release.table.column_names == ["node", "level", "parent", "residual", "total", *bounds]
    assert "Malformed keys are dropped." in release.notes
    assert release.guarantee.unit.name == "event"


@pytest.mark.parametrize("method", ["offline", "streaming"])
def test_intervals_hold_the_truth(method):
    release = hc.tree(
        VISITS, hierarchy="path/2", threshold=1000, method=method, confidence=1 - 1e-9, **BUDGET
    )
    truth = {"/shop": 17000, "/shop/tea": 9000, "/about/·": 7000}
    for row in release.table.to_pylist():
        assert row["lower"] <= truth[row["node"]] <= row["upper"]


def test_columns_name_themselves():
    frame = pa.table({"country": ["de"] * 3000 + ["fr"] * 2000, "city": ["Kassel"] * 3000 + ["Lyon"] * 2000})
    release = hc.tree(frame, hierarchy="columns:country,city", threshold=500, **BUDGET)
    assert list(near(release)) == [("de > Kassel", None), ("fr > Lyon", None)]
    text = refusal(frame, hierarchy="columns:country,city", column="city")
    assert text == "column must be left out with hierarchy columns:country,city, which names them."


def test_numbers_are_addresses():
    flows = np.repeat(np.array([0x0A000001, 0x0A000002], np.uint32), [4000, 3000])
    release = hc.tree(flows, hierarchy="ipv4/8", threshold=500, **BUDGET)
    assert list(near(release)) == [("10.0.0.1", None), ("10.0.0.2", None)]


def test_any_function_is_a_hierarchy():
    keys = ["b3"] * 3000 + ["b4"] * 3000
    first = {"hierarchy": lambda key: key[0] if len(key) > 1 else None, "height": 2}
    assert near(hc.tree(keys, threshold=500, **first, **BUDGET)) == {
        ("b > b3", None): (3000, 3000),
        ("b > b4", None): (3000, 3000),
    }
    assert list(near(hc.tree(keys, threshold=4000, **first, **BUDGET))) == [("b", None)]


def test_a_table_of_parents(tmp_path):
    (tmp_path / "parents.csv").write_text("child,parent\nlion,cat\ntiger,cat\n")
    path = f"parents:{tmp_path / 'parents.csv'}"
    release = hc.tree(["lion"] * 700 + ["tiger"] * 700, hierarchy=path, threshold=1000, **BUDGET)
    assert near(release) == {("cat", None): (1400, 1400)}


def test_a_share_of_the_public_bound():
    release = hc.tree(VISITS, hierarchy="path/2", share=0.3, max_events=25_000, **BUDGET)
    assert release.threshold == 7500
    assert list(near(release)) == [("/shop", None), ("/shop/tea", "/shop")]


def test_files_are_written(tmp_path):
    out, plot = tmp_path / "tree.csv", tmp_path / "tree.svg"
    release = hc.tree(VISITS, hierarchy="path/2", threshold=1000, output=out, plot=plot, **BUDGET)
    assert len(out.read_text().splitlines()) == len(release) + 1
    assert plot.read_text().startswith("<svg")


@pytest.mark.parametrize("method", ["offline", "streaming"])
def test_malformed_keys_stop_a_run_only_if_asked(method, tmp_path):
    keys = ["10.0.0.1"] * 5000 + ["secret"]
    options = {"hierarchy": "ipv4/8", "method": method}
    assert len(hc.tree(keys, threshold=1000, **options, **BUDGET)) == 1
    text = refusal(keys, DataError, on_bad="fail", **options)
    assert text == (
        'The data have a key that is malformed for hierarchy ipv4/8 (on_bad="fail").'
        " An address is written alone: cut off a port (host:port), brackets and a zone first."
    )


@pytest.mark.parametrize("method", ["offline", "streaming"])
def test_too_long_data_are_refused(method):
    text = refusal(VISITS, DataError, max_events=1000, method=method)
    assert text.startswith("The data hold more than max_events = 1000 events, so nothing was released;")


@pytest.mark.parametrize("method", ["offline", "streaming"])
def test_no_data_no_nodes(method):
    assert len(hc.tree([], hierarchy="ipv4/8", threshold=1000, method=method, **BUDGET)) == 0


def test_a_stopped_run_continues(tmp_path):
    data = tmp_path / "visits.csv"
    data.write_text("path\n" + "\n".join(VISITS) + "\n")
    checkpoint = tmp_path / "run.hc"

    def stop(done, size):
        raise KeyboardInterrupt

    options = {"column": "path", "hierarchy": "path/2", "threshold": 1000, "method": "streaming", **BUDGET}
    with pytest.raises(KeyboardInterrupt):
        hc.tree(data, checkpoint=checkpoint, progress=stop, **options)
    assert checkpoint.exists()
    text = refusal(data, DataError, **{**options, "checkpoint": checkpoint, "hierarchy": "path/3"})
    assert text == (
        f"{checkpoint} was saved for another sketch (mechanism, hierarchy, counters or budget), so it"
        " cannot be resumed. Delete it to start again."
    )
    release = hc.tree(data, checkpoint=checkpoint, **options)
    assert near(release)[("/shop", None)] == (8000, 17000)
    assert not checkpoint.exists()


REFUSED = {
    "unknown hierarchy": ({"hierarchy": "ipv5"}, r"^hierarchy must be one of ipv4/8, .*, got 'ipv5'\.$"),
    "bits": ({"hierarchy": "ipv4/3"}, r"^ipv4 must have steps of 8, 4 or 1 bits, got 3\.$"),
    "height": ({"hierarchy": "ipv4/8", "height": 5}, r"^height must be 4 for hierarchy ipv4/8, got 5\.$"),
    "function without height": (
        {"hierarchy": str.upper},
        r"^height must be given with a function as the hierarchy, got None\.$",
    ),
    "no threshold": (
        {"threshold": None},
        r"^Give either threshold, a count, or share, a fraction of max_events, but not both\.$",
    ),
    "both": (
        {"share": 0.1},
        r"^Give either threshold, a count, or share, a fraction of max_events, but not both\.$",
    ),
    "word": ({"threshold": "many"}, r"^threshold must be a whole number, got 'many'\.$"),
    "bool": ({"threshold": True}, r"^threshold must be a whole number, got True\.$"),
    "share alone": (
        {"threshold": None, "share": 0.1},
        r"^share needs max_events, the public bound it is a share of, got None\.$",
    ),
    "nan": (
        {"threshold": None, "share": float("nan"), "max_events": 10**6},
        r"^share must be a number above 0 and at most 1, got nan\.$",
    ),
    "method": ({"method": "guess"}, r"^method must be one of offline, streaming, got guess\.$"),
    "counters": (
        {"counters": 9},
        r'^counters needs method="streaming"; offline counts all keys\.$',
    ),
    "on_bad": ({"on_bad": "guess"}, r"^on_bad must be one of drop, fail, got 'guess'\.$"),
    "plot": ({"plot": "a.png"}, r"^plot must end in \.svg, got a\.png\.$"),
    "output": ({"output": "a.png"}, r"^output must end in one of .*, got a\.png\.$"),
    "checkpoint": (
        {"checkpoint": "a.hc"},
        r'^checkpoint needs method="streaming"; an offline tree starts from the beginning\.$',
    ),
    "low": ({"threshold": 3}, r"^threshold must be at least \d+ for .* got 3\.$"),
    "low for streams": (
        {"threshold": 3, "method": "streaming"},
        r"^threshold must be at least \d+ for .* got 3\.$",
    ),
    "several columns": (
        {"column": ["a", "b"]},
        r"^column must be one column with hierarchy path/2, got a, b;"
        r" hierarchy columns:A,B,\.\.\. takes several\.$",
    ),
    "unwritten function": (
        {"hierarchy": str.upper, "height": 2, "method": "streaming", "checkpoint": "a.hc"},
        r"^A sketch of hierarchy .* cannot be written: .*$",
    ),
}


@pytest.mark.parametrize(("options", "pattern"), REFUSED.values(), ids=REFUSED)
def test_refused_before_anything_is_read(options, pattern, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match=pattern):
        hc.tree(FORBIDDEN, **{"hierarchy": "path/2", "threshold": 1000, **BUDGET, **options})
    assert not list(Path().iterdir())


def test_the_least_threshold_is_accepted():
    text = refusal(threshold=3)
    least = int(text.split()[5])
    assert hc.tree(["/a"], hierarchy="path/2", threshold=least, **BUDGET).threshold == least
    assert str(least) in refusal(threshold=least - 1)


FLOWS = pa.table(
    {
        "user": [user for user in range(2000) for _ in range(3)] + [None, 1],
        "src": [f"10.0.{user % 2}.{host}" for user in range(2000) for host in range(3)] + ["10.0.0.1", None],
    }
)
USERS = {"hierarchy": "ipv4/8", "column": "src", "user": "user"}


def test_users_count_once_per_node():
    release = hc.tree(FLOWS, max_keys=3, threshold=500, by_level=True, **USERS, **BUDGET)
    totals = {row["node"]: row["total"] for row in release.table.to_pylist()}
    for node, users in {"*": 2000, "10.0.0.0/16": 2000, "10.0.0.0/24": 1000, "10.0.0.1": 1000}.items():
        assert totals[node] == pytest.approx(users, abs=200)  # ten standard deviations of the noise
    assert release.guarantee.unit.name == "user"
    assert release.notes[-1] == (
        "total is the number of users below a node, each once; at most 3 keys of each user are kept."
    )


def test_the_route_that_publishes_smaller_counts_is_taken_and_the_other_named():
    release = hc.tree(FLOWS, max_keys=3, threshold=500, **USERS, **BUDGET)
    assert release.guarantee.mechanism == "Gaussian noise on the count of every node"
    routes = [note for note in release.notes if note.startswith(("Route", "Not taken"))]
    assert routes == [
        "Route nodes: users of every node, each once per node, Gaussian noise for all nodes of a user:"
        " publishes a node of 533 users with probability 0.95.",
        "Not taken, group: rows of users, noise for all rows of a user together: publishes a node of 535 rows"
        " with probability 0.95.",
    ]
    few = hc.tree(FLOWS, max_keys=2, threshold=500, **USERS, **BUDGET | {"epsilon": 8.0})
    assert few.guarantee.mechanism == "noisy residuals of a hierarchy for groups of 2 rows"


def test_one_key_per_user_is_one_row_per_user():
    """The mechanism of events, unchanged: one row of a user is one event."""
    alone = hc.tree(FLOWS, max_keys=1, threshold=300, **USERS, **BUDGET)
    rows = hc.tree(FLOWS, hierarchy="ipv4/8", column="src", threshold=300, **BUDGET)
    same = ("mechanism", "theorem", "proof", "parameters", "epsilon", "delta")
    assert [getattr(alone.guarantee, name) for name in same] == [
        getattr(rows.guarantee, name) for name in same
    ]
    assert alone.guarantee.unit.name == "user"
    assert round(sum(alone.residuals.to_pylist()), -3) <= 2000
    assert alone.notes[-1] == "total is the number of users whose one kept key is below."


def test_users_of_one_pass():
    release = hc.tree(FLOWS, max_keys=3, threshold=900, method="streaming", **USERS, **BUDGET)
    assert release.guarantee.mechanism == "floor release of every level for groups of 3 rows"
    assert "total is the number of rows kept, not of users; at most 3 rows of each user." in release.notes


def test_events_by_level():
    release = hc.tree(VISITS, hierarchy="path/2", threshold=1000, by_level=True, **BUDGET)
    totals = {row["node"]: round(row["total"], -2) for row in release.table.to_pylist()}
    about = {"/about": 7000, "/about/·": 7000}
    assert totals == {"*": 24000, "/shop": 17000, "/shop/tea": 9000, **about}
    assert release.guarantee.unit.name == "event"


def test_events_by_level_in_one_pass(tmp_path):
    asked = {"hierarchy": "path/2", "threshold": 1000, "by_level": True, **BUDGET}
    release = hc.tree(VISITS, method="streaming", output=tmp_path / "tree.json", **asked)
    totals = {row["node"]: round(row["total"], -2) for row in release.table.to_pylist()}
    about = {"/about": 7000, "/about/·": 7000}
    assert totals == {"*": 24000, "/shop": 17000, "/shop/tea": 9000, **about}
    assert all(finding.follows is not False for finding in hc.verify(tmp_path / "tree.json").findings)
    assert hc.read_release(tmp_path / "tree.json").table == release.table
    sketch = hc.HierarchySketch("path/2")
    sketch.update(VISITS)
    assert sorted(hc.tree(sketch, **asked).nodes.to_pylist()) == sorted(totals)


def test_users_that_cannot_be_used_are_refused_before_anything_is_read():
    asked = {"hierarchy": "ipv4/8", "user": "u", "column": "k"}
    assert refusal(**asked) == "max_keys must be given with user to count users; it has no default."
    assert refusal(**asked, max_keys=0) == "max_keys must be at least 1, got 0."
    assert refusal(max_keys=2) == "max_keys limits what each user contributes, so it needs user, a column."
    assert refusal(**asked, max_keys=8, threshold=20) == (
        "threshold must be at least 209 for users of at most 8 keys at this epsilon and delta, got 20."
    )
    assert refusal(**asked, max_keys=2, checkpoint="x").startswith("checkpoint cannot be combined with user:")
    assert refusal(FLOWS, **asked | {"user": "src", "column": "src"}, max_keys=2) == (
        "user must be another column than the keys, got src."
    )
    sketch = hc.HierarchySketch("path/2")
    assert refusal(sketch, user="u", max_keys=2) == (
        "a HierarchySketch has been counted; leave out user and max_keys."
    )


def test_users_in_a_ledger_and_in_a_file(tmp_path):
    ledger = tmp_path / "ledger.db"
    Ledger(ledger).init("flows", Filter.fixed(2, "1e-6"), "user")
    again = {"max_keys": 3, "threshold": 500, "ledger": ledger, "dataset": "flows", "run_id": "one"}
    first = hc.tree(FLOWS, output=tmp_path / "tree.json", **again, **USERS, **BUDGET)
    assert hc.tree(FLOWS, **again, **USERS, **BUDGET).table == first.table
    assert hc.read_release(tmp_path / "tree.json").table == first.table
    found = hc.verify(tmp_path / "tree.json", ledger=ledger)
    assert found.holds
