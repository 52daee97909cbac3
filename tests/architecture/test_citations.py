"""Papers are cited by author and year, and docs/references.md resolves every citation."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "docs", "experiments", "benchmarks", "tests")
REFERENCES = (ROOT / "docs" / "references.md").read_text()
# They name papers without citing them.
SELF = {"test_citations.py", "references.md"}
ENTRIES = set(re.findall(r"^\*\*(.+? (?:19|20)\d\d)\.\*\*", REFERENCES, re.MULTILINE))

NAME = r"(?:Mc)?[A-Z][a-zà-ž]+(?:-[A-Z][a-zà-ž]+)?"
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
CITED = re.compile(rf"\b(?!{MONTHS})({NAME}(?: and {NAME}| et al\.)?)\s+((?:19|20)\d\d)\b(?![-/:.]\d)")
WITHOUT_YEAR = re.compile(r"\bet al\.(?!\s+(?:19|20)\d\d\b)")
# A number that stands alone; 1,000 and 0.003 and 13:000 are others.
NUMBERED = re.compile(r"(?<![\w.,:+-])00[0-4](?![\w-]|[.,:]\d)")


def plain(text):
    """The text with comment marks and line breaks taken out, so that a citation may go over two lines."""
    return re.sub(r"\s*\n[ #]*", " ", text)


def pages():
    found = [
        path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ".md"}
    ]
    found += ROOT.glob("*.md")
    return sorted(str(path.relative_to(ROOT)) for path in found if path.name not in SELF)


@pytest.fixture(scope="module")
def texts():
    return {page: plain((ROOT / page).read_text()) for page in pages()}


def test_every_citation_has_an_entry(texts):
    cited = {
        (page, " ".join(match.groups())) for page, text in texts.items() for match in CITED.finditer(text)
    }
    assert {each for each in cited if each[1] not in ENTRIES} == set()


def test_every_entry_is_complete_and_in_order():
    entries = REFERENCES.split("\n**")[1:]
    assert all(re.search(r"\*[^*]+\.\*", entry) and "*Used for*: " in entry for entry in entries)
    others = [
        entry[: entry.index(".**")] for entry in REFERENCES.split("## Other works")[1].split("\n**")[1:]
    ]
    assert others == sorted(others)
    assert len(ENTRIES) == len(entries)


def test_authors_come_with_a_year(texts):
    assert [page for page, text in texts.items() if WITHOUT_YEAR.search(text)] == []


def test_no_paper_is_a_number(texts):
    assert [page for page, text in texts.items() if NUMBERED.search(text)] == []


@pytest.mark.parametrize("text", ["(000, Algorithm 1)", "# 003", "of 002's proofs", "004:", "paper 001 and"])
def test_numbers_of_papers_are_seen(text):
    assert NUMBERED.search(text)


@pytest.mark.parametrize(
    "text", ["1,000", "0.003", "2024-05-17T13+01:000", "0003-checkpoints.md", "x001", "000,000"]
)
def test_other_numbers_are_not_papers(text):
    assert not NUMBERED.search(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("as in Lebeda and Tětek 2023, Theorem 23", "Lebeda and Tětek 2023"),
        ("(Bassily et al.\n    # 2020)", "Bassily et al. 2020"),
        ("Holland 2025's", "Holland 2025"),
        ("a run of November 2026", None),
    ],
)
def test_citations_are_seen(text, found):
    match = CITED.search(plain(text))
    assert (match and " ".join(match.groups())) == found
