"""Experiments of the papers: they run at any size, and what is stored is what their results say."""

import importlib
import json

import pytest
from experiments.common import chart
from experiments.common.claims import CHANGED, FAILS, HOLDS, judged
from experiments.common.study import ROOT, markdown, short, summary
from experiments.papers import PAGE, STUDIES, page

VERDICTS = {HOLDS, CHANGED, FAILS}


@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.folder)
def test_it_runs_at_any_size(study, tmp_path):
    importlib.import_module(f"experiments.{study.folder}.run").main(
        ["--size", "tiny", "--folder", str(tmp_path)]
    )
    results = json.loads((tmp_path / "results.json").read_text())
    assert (tmp_path / "README.md").read_text() == study.page(results)
    assert {each.verdict for each in study.claims(results)} <= VERDICTS
    for name, picture in study.figures(results).items():
        assert (tmp_path / "figures" / f"{name}.svg").read_text() == picture
    (tmp_path / "README.md").unlink()
    study.draw(tmp_path)
    assert (tmp_path / "README.md").read_text() == study.page(results)


@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.folder)
def test_pages_and_figures_are_those_of_the_stored_results(study):
    results, folder = study.stored(), ROOT / study.folder
    assert (folder / "README.md").read_text() == study.page(results)
    drawn = study.figures(results)
    assert {path.stem for path in (folder / "figures").iterdir()} == set(drawn)
    for name, picture in drawn.items():
        assert (folder / "figures" / f"{name}.svg").read_text() == picture
    assert results["made"]["size"] in ("small", "full")


@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.folder)
def test_every_claim_has_a_verdict_and_a_figure_that_exists(study):
    claims, drawn = study.claims(study.stored()), study.figures(study.stored())
    assert claims
    for each in claims:
        assert each.verdict in VERDICTS
        assert each.says
        assert each.found
        assert each.figure in ("", *drawn)


def test_the_page_of_claims_is_that_of_the_stored_results():
    assert PAGE.read_text() == page()


def test_verdicts():
    assert [judged(*each) for each in ((True,), (True, True), (False, True), (False,))] == [
        HOLDS,
        HOLDS,
        CHANGED,
        FAILS,
    ]


def test_a_summary_has_means_and_the_quantiles_of_what_varies():
    samples = [{"a": float(value), "b": 2.0, "c": float("nan")} for value in range(101)]
    assert summary(samples) == {"a": 50.0, "a_low": 5.0, "a_high": 95.0, "b": 2.0, "c": None}
    assert short(123456.789) == 123457


def test_tables_show_numbers_as_they_are_read():
    rows = [{"a": 1234567.5, "b": None, "c": 0.00012345, "d": "x"}, {"a": 3.0, "b": 2, "c": 1.5, "d": "y"}]
    assert markdown(rows, {name: name for name in "abcd"}).splitlines()[2:] == [
        "| 1,234,568 | - | 0.000123 | x |",
        "| 3 | 2 | 1.5 | y |",
    ]


@pytest.mark.parametrize(
    ("low", "high", "log"), [(0, 1, False), (3, 3, False), (0.02, 900, True), (2, 4, True)]
)
def test_ticks_are_within_the_axis_and_values_within_the_panel(low, high, log):
    axis = chart.Axis.over([low, high], log, 10, 110)
    assert len(axis.ticks) >= 2
    assert all(10 <= axis(value) <= 110 for value in (low, high, *axis.ticks))


def test_a_panel_without_points_can_be_drawn():
    panel = chart.Panel("empty", "x", "y", {"line": [(1.0, 0.0, 0.0, 0.0)]}, log_y=True)
    assert chart.draw([panel]).count("<polyline") == 1
