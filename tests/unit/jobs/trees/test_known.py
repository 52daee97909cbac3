"""Trees with delta = 0 from data: which hierarchies and options, users and weights, the ledger, refusals."""

import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.errors import NotProvedError, ParameterError

KEYS = ["/a/x"] * 400 + ["/a/y"] * 200 + ["/b/z"] * 100
ASKED = {"hierarchy": "path/2", "threshold": 60, "epsilon": 1.0, "delta": 0}
DOMAIN = ["/a/x", "/a/y", "/b/z", "/b/w"]


def totals(tree):
    return dict(zip(tree.nodes.to_pylist(), tree.totals.to_pylist(), strict=True))


def test_a_list_of_keys_makes_any_hierarchy_known(tmp_path):
    path = tmp_path / "keys.txt"
    path.write_text("\n".join(DOMAIN))
    for domain in (DOMAIN, path):
        found = totals(hc.tree(KEYS, domain=domain, **ASKED))
        assert set(found) == {"/a/x", "/a/y", "/b/z"}
        assert abs(found["/a/x"] - 400) < 100  # noise of scale 3


def test_numbers_in_a_range():
    release = hc.tree([167772161] * 500, domain="167772160..167772167", **ASKED | {"hierarchy": "ipv4/8"})
    assert release.nodes.to_pylist() == ["10.0.0.1"]
    assert release.guarantee.parameters["nodes"] == 8 + 4


def test_all_addresses():
    tree = hc.tree(["10.0.0.1"] * 5000, **ASKED | {"hierarchy": "ipv4/8", "threshold": 300})
    assert tree.nodes.to_pylist() == ["10.0.0.1"]
    assert tree.guarantee.parameters["nodes"] == sum(256**level for level in range(5))


def test_users_are_counted_once_per_node_and_change_fewer_nodes_of_small_levels():
    table = {"key": KEYS * 2, "user": [place // 4 for place in range(len(KEYS) * 2)]}
    tree = hc.tree(
        pa.table(table), column="key", user="user", max_keys=3, by_level=True, domain=DOMAIN, **ASKED
    )
    assert tree.guarantee.parameters["moved"] == 1 + 2 + 3
    assert abs(totals(tree)["*"] - 350) < 150
    assert any("users below a node, each once" in note for note in tree.notes)


def test_weights_count_in_noise_and_totals():
    table = pa.table({"key": KEYS, "kb": [3] * len(KEYS)})
    tree = hc.tree(
        table, column="key", weight="kb", max_weight=4, domain=DOMAIN, **ASKED | {"threshold": 300}
    )
    assert tree.guarantee.parameters["max_weight"] == 4
    assert abs(totals(tree)["/a/x"] - 1200) < 400


def test_the_same_question_with_another_domain_is_another(tmp_path):
    hc.Ledger(tmp_path / "l.db").init("visits", epsilon=10.0, delta=1e-6)
    asked = {**ASKED, "ledger": tmp_path / "l.db", "dataset": "visits"}
    path = tmp_path / "v.csv"
    path.write_text("key\n" + "\n".join(KEYS))
    one = hc.tree(path, domain=DOMAIN, **asked)
    assert totals(hc.tree(path, domain=DOMAIN, **asked)) == totals(one)  # the stored answer
    other = hc.tree(path, domain=DOMAIN[:3], **asked)
    assert other.made.id != one.made.id


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({}, "delta = 0 needs a hierarchy of which everybody knows all nodes"),
        (
            {"method": "streaming", "hierarchy": "ipv4/8"},
            'delta = 0 needs method="offline", which counts all keys; a sketch of each level needs a',
        ),
        ({"domain": DOMAIN, "delta": 1e-6}, "delta must be 0 with a public domain, got 1e-06."),
        ({"domain": ["/a/x", ""]}, "domain must hold well-formed keys of hierarchy path/2 only."),
        ({"domain": "tea"}, "domain must be A..B or a file of keys, got tea."),
        (
            {"domain": f"0..{1 << 30}", "hierarchy": "ipv4/8"},
            "domain must have at most 16,777,216 keys for a hierarchy, got 1,073,741,825.",
        ),
        (
            {"domain": DOMAIN, "hierarchy": "columns:a,b"},
            "domain lists keys of one column, and hierarchy columns:a,b has several; take a table of parents",
        ),
        ({"delta": False, "domain": DOMAIN}, "delta must be"),
        ({"epsilon": None, "rho": 0.1}, "delta"),
        ({"hierarchy": "ipv4/8", "threshold": 5}, "threshold must be at least"),
    ],
)
def test_what_is_refused(changed, sentence):
    with pytest.raises(ParameterError) as caught:
        hc.tree(KEYS, **ASKED | changed)
    assert sentence in str(caught.value)


def test_sketches_of_levels_need_a_delta():
    sketch = hc.HierarchySketch("ipv4/8", counters=16)
    with pytest.raises(ParameterError, match="a sketch of each level needs a delta above 0"):
        hc.tree(sketch, **ASKED | {"hierarchy": "ipv4/8"})


def test_weights_with_by_level_need_delta_0():
    table = pa.table({"key": KEYS, "kb": [3] * len(KEYS)})
    asked = {"column": "key", "weight": "kb", "by_level": True}
    with pytest.raises(NotProvedError, match="weight needs exact counts"):
        hc.tree(table, **asked, **ASKED | {"delta": 1e-6})
    assert len(hc.tree(table, **asked, domain=DOMAIN, **ASKED)) >= 3
