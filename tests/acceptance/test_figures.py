"""Pages that state figures of a run say what its JSON says: no figure is written by hand, none is old."""

import importlib
import json
from pathlib import Path

import pytest
from benchmarks.page import page as benchmarks_page
from benchmarks.peers.page import page as peers_page
from experiments.hierarchy.page import page as hierarchy_page
from experiments.pageviews.page import page as pageviews_page

ROOT = Path(__file__).parents[2]


def load(name):
    return json.loads((ROOT / name).read_text())


def test_benchmarks():
    assert (ROOT / "docs/benchmarks.md").read_text() == benchmarks_page(load("benchmarks/latest.json"))


def test_peers():
    assert (ROOT / "docs/peers.md").read_text() == peers_page(load("benchmarks/peers/results.json"))


def test_page_views():
    page = pageviews_page(load("experiments/pageviews/results.json"))
    assert (ROOT / "experiments/pageviews/README.md").read_text() == page


@pytest.fixture
def keys(monkeypatch):
    """The scripts of this experiment are run by their path and import each other."""
    monkeypatch.syspath_prepend(ROOT / "experiments/keys")
    return importlib.import_module


def test_keys(tmp_path, keys):
    (tmp_path / "docs/images").mkdir(parents=True)
    keys("page").write(load("experiments/keys/results.json"), tmp_path)
    for name in ("docs/keys.md", "docs/images/keys.svg"):
        assert (ROOT / name).read_text() == (tmp_path / name).read_text()


def test_max_keys_auto(tmp_path, monkeypatch, keys):
    auto = keys("auto")
    monkeypatch.setattr(auto, "PAGE", tmp_path / "page.md")
    auto.write(load("experiments/keys/auto.json"))
    assert (ROOT / "docs/max-keys-auto.md").read_text() == auto.PAGE.read_text()


def test_trees():
    folder = ROOT / "experiments/hierarchy"
    assert (folder / "README.md").read_text() == hierarchy_page(
        json.loads((folder / "results.json").read_text())
    )
