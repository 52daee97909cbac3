"""The pages: links lead somewhere, tests that are named exist, lines can be read."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "experiments").rglob("*.md")])
PROSE = sorted([*(ROOT / "docs/proofs").rglob("*.md"), *(ROOT / "docs/decisions").glob("*.md")])
TESTS = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))


def name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)
    links = re.findall(r"\]\(([^()\s#]+)(?:#[^)]*)?\)", text)
    local = [link for link in links if not link.startswith(("http:", "https:", "mailto:"))]
    assert [link for link in local if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_and_tests_that_are_named_exist(page):
    text = page.read_text()
    files = re.findall(r"`((?:tests|docs|experiments|benchmarks|examples)/[\w./-]+\.\w+)`", text)
    assert [file for file in files if not (ROOT / file).exists()] == []
    named = re.findall(r"`(?:[\w/.]+::)?(test_\w+)`", text)
    assert [test for test in named if f"def {test}(" not in TESTS and f"{test}.py" not in text] == []


@pytest.mark.parametrize("page", PROSE, ids=name)
def test_lines_can_be_read(page):
    lines = [line for line in page.read_text().splitlines() if not line.startswith(("|", "#"))]
    assert [line for line in lines if len(line) > 120] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs/proofs").rglob("*.md")), ids=name)
def test_a_proof_opens_in_words(page):
    title, empty, opening = page.read_text().split("\n", 3)[:3]
    assert title.startswith("# ")
    assert (empty, opening.startswith("**In words.** ")) == ("", True)
