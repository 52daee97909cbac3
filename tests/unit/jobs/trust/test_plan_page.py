"""A plan as a picture and as a page."""

from xml.etree import ElementTree

import pytest

import hushcount as hc
from hushcount.errors import ParameterError
from hushcount.jobs.trust.plan_page import write_plan


@pytest.fixture
def plan():
    return hc.plan(100_000, epsilon=1.0, delta=1e-6, max_keys=3)


def test_a_picture_has_a_bar_for_each_epsilon(plan, tmp_path):
    write_plan(plan, tmp_path / "p.svg")
    root = ElementTree.parse(tmp_path / "p.svg").getroot()
    bars = [each for each in root.iter("{http://www.w3.org/2000/svg}rect") if each.get("class")]
    assert [each.get("class") for each in bars].count("asked") == 1
    assert len(bars) == len(plan.by_epsilon)


def test_a_page_needs_no_network(plan, tmp_path):
    write_plan(plan, tmp_path / "p.html")
    page = (tmp_path / "p.html").read_text()
    assert page.startswith('<!doctype html>\n<html lang="en">')
    assert all(sentence in page for sentence in plan.sentences)
    assert page.count("<table>") == 2
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_other_endings_are_refused(plan, tmp_path):
    with pytest.raises(ParameterError, match=r"plot must end in \.svg or \.html"):
        write_plan(plan, tmp_path / "p.png")
