"""Jobs that count rows by their weights."""

import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.cli.main import main

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
FLOWS = pa.table(
    {
        "src": ["10.0.0.1"] * 400 + ["10.0.0.2"] * 300 + ["10.9.9.9"] * 200,
        "bytes": [90] * 400 + [500] * 300 + [50, -50] * 100,
        "price": [0.5] * 900,
    }
)


def test_exact_counts_are_sums_cut_to_the_bound():
    release = hc.top(FLOWS, column="src", weight="bytes", max_weight=100, exact=True, **BUDGET)
    found = dict(zip(release.table["key"].to_pylist(), release.table["count"].to_pylist(), strict=True))
    assert found.keys() == {"10.0.0.1", "10.0.0.2"}  # what was deleted again is not there
    noise = release.error.simultaneous(0.95)
    assert -noise[1] <= found["10.0.0.1"] - 36_000 <= noise[0]
    assert -noise[1] <= found["10.0.0.2"] - 30_000 <= noise[0]
    assert release.guarantee.parameters["max_weight"] == 100
    assert release.guarantee.unit.weight == 100
    assert release.counted.noun == "bytes"


@pytest.mark.parametrize("mechanism", [None, "laplace", "truncated-geometric"])
def test_noise_grows_with_the_bound(mechanism):
    asked = {"column": "src", "weight": "bytes", "exact": True, "mechanism": mechanism, "dry_run": True}
    one, ten = (hc.top(FLOWS, max_weight=most, **asked, **BUDGET).expected.smallest_count for most in (1, 10))
    assert 8 * one <= ten <= 12 * one


def test_trees_samples_and_oracles_add_up_weights():
    asked = {"column": "src", "weight": "bytes", "max_weight": 100, **BUDGET}
    tree = hc.tree(FLOWS, hierarchy="ipv4/8", threshold=15_000, **asked)
    assert tree.nodes.to_pylist() == ["10.0.0.1", "10.0.0.2"]
    assert "total is a sum of bytes." in tree.notes
    assert abs(tree.table["total"][0].as_py() - 36_000) < 6_000
    oracle = hc.oracle(FLOWS, kind="count-min", depth=3, width=4096, **asked)
    counts = oracle.estimate(["10.0.0.1", "10.0.0.2", "10.9.9.9"])["count"].to_pylist()
    assert [abs(one - true) < 12_000 for one, true in zip(counts, (36_000, 30_000, 0), strict=True)] == [
        True
    ] * 3
    sample = hc.sample(FLOWS, rate=1.0, **asked | {"max_weight": 3})
    assert sample.table["key"].to_pylist() == ["10.0.0.1", "10.0.0.2"]
    assert abs(sample.table["count"][0].as_py() - 1_200) < 200


def test_a_deletion_may_come_first_but_not_exceed():
    keys = ["tea", "tea", "milk"]
    rows = pa.table({"key": keys, "n": [-1, 3, 1]})
    asked = {"column": "key", "weight": "n", "max_weight": 5, "kind": "count-min", **BUDGET}
    assert hc.oracle(rows, **asked).partial is False
    with pytest.raises(
        hc.errors.DataError, match=r"^The weights delete more of some key than they add, so nothing"
    ):
        hc.oracle(pa.table({"key": keys, "n": [-9, 3, 1]}), **asked)


REFUSED = (
    "weight needs exact counts or cells, which one row changes by up to max_weight and no more; anything else"
    " is proved for rows that count 1. "
)
CASES = {
    "no exact": ({}, REFUSED + "Take exact=True or an error envelope, or publish an oracle."),
    "other": (
        {"exact": True, "other": True},
        "other cannot be combined with weight: the total is that of single events.",
    ),
    "user": (
        {"user": "price", "max_keys": 2},
        "weight cannot be combined with user: it bounds what one row counts, not what one user does; leave"
        " out one of them.",
    ),
    "real": (
        {"exact": True, "weight": "price"},
        "weight must be a column of whole numbers, got double: a sum of real numbers is no count, and noise"
        " on whole numbers does not hide its last digits. Round them, in smaller units if need be, such as"
        " cents.",
    ),
    "bound alone": (
        {"weight": None, "max_weight": 3},
        "max_weight is the largest weight of a row, so it needs weight, a column.",
    ),
    "no column": (
        {"exact": True, "weight": "size"},
        "Column 'size' is not in the table; it has: src, bytes, price.",
    ),
    "gaussian": (
        {"exact": True, "max_weight": 9, "mechanism": "gaussian"},
        "gaussian is proved for events that count 1 each; weights are proved for truncated-geometric,"
        " laplace-threshold and laplace on exact counts, for samples of these, for offline trees, error"
        " envelopes and oracles.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_refusals_of_top(case):
    given, sentence = CASES[case]
    asked = {"column": "src", "weight": "bytes"} | BUDGET | given
    with pytest.raises(hc.errors.HushcountError) as caught:
        hc.top(FLOWS, **asked)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("given", [{"method": "streaming"}, {"by_level": True}])
def test_refusals_of_tree(given):
    with pytest.raises(hc.errors.NotProvedError) as caught:
        hc.tree(FLOWS, column="src", weight="bytes", hierarchy="ipv4/8", threshold=9_000, **BUDGET, **given)
    assert str(caught.value) == REFUSED + 'Take method="offline" without by_level=True.'


def test_a_sample_with_a_checkpoint_is_refused(tmp_path):
    with pytest.raises(hc.errors.ParameterError) as caught:
        hc.sample(FLOWS, column="src", weight="bytes", rate=0.1, checkpoint=tmp_path / "run.hc", **BUDGET)
    assert str(caught.value) == "checkpoint cannot be combined with weight: sums are made on disk."


def test_the_command_line_names_options_and_its_files_verify(tmp_path, capsys):
    path = tmp_path / "flows.csv"
    lines = [
        f"{src},{size}"
        for src, size in zip(*FLOWS.select(["src", "bytes"]).to_pydict().values(), strict=True)
    ]
    path.write_text("\n".join(["src,bytes", *lines]))
    asked = [str(path), "--column", "src", "--weight", "bytes", "--epsilon", "1", "--delta", "1e-6"]
    assert main(["top", *asked]) == 2
    assert (
        "--weight needs exact counts or cells, which one row changes by up to --max-weight"
        in capsys.readouterr().err
    )
    asked += ["--max-weight", "100"]
    made = {
        "top.json": ["top", *asked, "--exact"],
        "tree.json": ["tree", *asked, "--hierarchy", "ipv4/8", "--threshold", "15000"],
        "oracle.hc": ["oracle", *asked],
        "sample.json": ["sample", *asked[:-1], "3", "--rate", "0.5"],
    }
    for name, words in made.items():
        assert main([*words, "--output", str(tmp_path / name)]) == 0
        assert main(["verify", str(tmp_path / name)]) == 0
        assert "DOES NOT FOLLOW" not in capsys.readouterr().out


@pytest.mark.parametrize("mechanism", ["count-min-envelope", "count-sketch-envelope", "measured-envelope"])
def test_an_envelope_adds_up_weights_and_takes_deletions(mechanism, tmp_path):
    """3,000 rows of 5 and 2,000 of 3, of which 1,900 are deleted again; the sums are what is published."""
    keys = ["tea"] * 3000 + ["milk"] * 3900 + ["salt"] * 5
    table = pa.table({"key": keys, "n": [5] * 3000 + [3] * 2000 + [-3] * 1900 + [5] * 5})
    asked = {"mechanism": mechanism, "max_events": 30_000, "epsilon": 1.0, "delta": 1e-6}
    release = hc.top(table, column="key", weight="n", max_weight=5, counters=64, **asked)
    (row,) = release.table.to_pylist()
    assert row["key"] == "tea"
    assert row["lower"] <= 15_000 <= row["upper"]
    assert release.guarantee.parameters["max_weight"] == 5
    assert release.guarantee.assumptions[0].endswith("additions and deletions, each as often as it weighs")
    path = tmp_path / "r.json"
    release.write(path)
    assert hc.read_release(path).table.equals(release.table)
    assert hc.verify(path).holds
    sketch = hc.tracked_sketch(
        64, max_events=30_000, epsilon=1.0, delta=1e-6, mechanism=mechanism, max_weight=5
    )
    sketch.update(table["key"], weights=table["n"].to_numpy())
    again = hc.load(sketch.to_bytes())
    assert (again.total, again.unit.weight) == (sketch.total, 5) == (26_725, 5)
    assert hc.release(again, **asked).table["key"].to_pylist() == ["tea"]


def test_weights_beyond_the_bound_are_refused_by_a_sketch_and_cut_by_a_column():
    sketch = hc.tracked_sketch(64, max_events=30_000, epsilon=1.0, delta=1e-6, max_weight=5)
    with pytest.raises(hc.errors.HushcountError, match="weights"):
        sketch.update(["tea"], weights=[6])
    assert sketch.total == 0
    with pytest.raises(hc.errors.ParameterError, match="max_weight must be at least 1, got 0"):
        hc.tracked_sketch(64, max_events=30_000, epsilon=1.0, delta=1e-6, max_weight=0)


def test_more_weight_than_the_bound_is_refused():
    table = pa.table({"key": ["tea"] * 100, "n": [5] * 100})
    asked = {"mechanism": "count-min-envelope", "max_events": 300, "epsilon": 5.0, "delta": 1e-3}
    with pytest.raises(hc.errors.DataError, match="The data hold more than max_events = 300 events"):
        hc.top(table, column="key", weight="n", max_weight=5, counters=4, **asked)


@pytest.mark.parametrize("mechanism", ["count-min-envelope", "count-sketch-envelope", "measured-envelope"])
def test_an_envelope_takes_rows_that_stand_for_several_events(mechanism):
    """It raised a TypeError."""
    table = pa.table({"key": ["tea", "milk", "tea"], "n": [9_000, 20, 6_000]})
    asked = {"mechanism": mechanism, "max_events": 20_000, "counters": 64, "epsilon": 1.0, "delta": 1e-6}
    (row,) = hc.top(table, column="key", times="n", **asked).table.to_pylist()
    assert row["key"] == "tea"
    assert row["lower"] <= 15_000 <= row["upper"]
    one, other = (hc.tracked_sketch(8, max_events=10, epsilon=1.0, delta=1e-6) for _ in range(2))
    one.update(["a", "b"], times=[3, 0])
    other.update(["a"] * 3)
    assert one.total == other.total == 3
