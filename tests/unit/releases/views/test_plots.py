"""Pictures of counts: axes that hold every value, the threshold, the floor, and well-formed files."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.releases import FixedError, release_of
from tests.unit.releases.tree_example import tree

import hushcount as hc
from hushcount.errors import ParameterError
from hushcount.privacy import LOCAL_USER
from hushcount.releases.views.plots import (
    BOTTOM,
    HEIGHT,
    LogScale,
    plot_of,
    rank_plot,
    reporting_distribution,
    reporting_plot,
    reporting_steps,
    smallest_published,
)

SVG = "{http://www.w3.org/2000/svg}"
ROWS = [("tea", 900), ("milk", 300), ("salt", 40)]


def texts(svg):
    return ["".join(text.itertext()) for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_a_scale_holds_all_values_in_whole_decades():
    scale = LogScale.over([3, 900], 0, 300)
    assert (scale.low, scale.high, scale.ticks) == (0, 3, [1, 10, 100, 1000])
    assert [scale(value) for value in (1, 10, 1000)] == pytest.approx([0, 100, 300])
    assert [scale(value) for value in (0, -5, 10**9)] == pytest.approx([0, 0, 300])
    assert LogScale.over([], 0, 1).ticks == [1, 10]
    assert LogScale.over([100, 100], 0, 1).ticks == [100, 1000]
    assert len(LogScale.over([1, 10**12], 0, 1).ticks) == 7


def test_the_threshold_and_the_floor_are_drawn_and_named():
    release = release_of(ROWS)
    assert smallest_published(release) == 4 + 22
    words = texts(plot_of(release).svg)
    assert "smallest noisy count that is published: 26" in words
    assert "noisy floor: 4" in words
    assert words[0] == "Published counts by rank"
    assert words[1] == "3 rows; (1, 1e-08)-differential privacy for one event, not one person"


def test_of_local_reports_the_floor_is_the_threshold():
    release = release_of(ROWS)
    local = replace(release, guarantee=replace(release.guarantee, unit=LOCAL_USER))
    assert smallest_published(local) == 4
    assert "noisy floor: 4" not in texts(plot_of(local).svg)


def test_the_name_of_a_low_floor_stays_off_the_axis():
    low = replace(release_of([("tea", 90_000), ("salt", 2)]), floor=1)
    named = next(
        text
        for text in ElementTree.fromstring(plot_of(low).svg).iter(f"{SVG}text")
        if text.get("class") == "floor-name"
    )
    assert float(named.get("y")) < HEIGHT - BOTTOM


def test_a_dot_for_each_of_the_first_ranks():
    assert rank_plot(release_of(ROWS)).count('class="dot"') == 3
    assert rank_plot(release_of([(str(row), 500 - row) for row in range(200)])).count('class="dot"') == 40


def test_lower_counts_are_drawn_lower():
    heights = [
        float(dot.get("cy"))
        for dot in ElementTree.fromstring(plot_of(release_of(ROWS)).svg).iter(f"{SVG}circle")
    ]
    assert heights == sorted(heights)
    assert len(set(heights)) == 3


def test_without_upper_bounds_and_without_rows():
    ElementTree.fromstring(plot_of(release_of(ROWS, FixedError(above=None))).svg)
    empty = release_of([])
    assert "no key was published" in plot_of(empty).svg
    assert 'class="dot"' not in plot_of(empty).svg


def test_samples_show_how_likely_a_key_is_to_appear():
    release = hc.sample(["tea"] * 5000, rate=0.01, epsilon=1.0, delta=1e-8)
    law = reporting_distribution(release)
    steps = reporting_steps(law)
    assert steps[0] == (1, pytest.approx(1e-8))
    assert steps[-1][1] > 0.999
    assert [share for _, share in steps] == sorted(share for _, share in steps)
    np.testing.assert_allclose([share for _, share in steps], law.reporting([count for count, _ in steps]))
    assert 'class="curve"' in reporting_plot(law)
    assert reporting_distribution(release_of(ROWS)) is None


def test_writing(tmp_path):
    plot_of(release_of(ROWS)).write(tmp_path / "a.svg")
    plot_of(tree()).write(tmp_path / "b.svg")
    for name in "ab":
        ElementTree.parse(tmp_path / f"{name}.svg")
    with pytest.raises(ParameterError, match=r"^plot must end in \.svg, got a\.png\.$"):
        plot_of(release_of(ROWS)).write("a.png")


def test_release_plot_is_shown_by_notebooks():
    release = release_of(ROWS)
    assert release.plot()._repr_svg_() == plot_of(release).svg
    assert "Hierarchical heavy hitters" in tree().plot().svg
