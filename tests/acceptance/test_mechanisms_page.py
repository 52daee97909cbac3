"""The table of mechanisms: every name with its proof, and `top` reaches those that the table says it does."""

import re
from pathlib import Path

import pytest

import hushcount as hc
from hushcount.errors import HushcountError
from hushcount.mechanisms.registry import EVERY_MECHANISM, MECHANISMS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "mechanisms.md").read_text()
LINES = [line.strip("|").split("|") for line in PAGE.splitlines() if line.startswith("| `")]
ROWS = [[cell.strip() for cell in line] for line in LINES if len(line) == 6]
NAMES = [re.findall(r"`([a-z-]+)`", row[0])[0] for row in ROWS]


def test_the_table_names_every_mechanism_with_its_proof():
    proofs = [re.findall(r"\]\(([^)]+)\)", row[5])[0] for row in ROWS]
    assert {name: f"docs/{proof}" for name, proof in zip(NAMES, proofs, strict=True)} == {
        name: mechanism.claim.proof for name, mechanism in MECHANISMS.items()
    }


def test_the_page_names_what_commands_choose_by_their_options():
    chosen = PAGE[PAGE.index("More mechanisms") :]
    others = set(EVERY_MECHANISM) - set(MECHANISMS)
    assert others <= set(re.findall(r"`([a-z-]+)`", chosen))
    for name in others:
        assert EVERY_MECHANISM[name].claim.proof.removeprefix("docs/") in chosen


CASES = [(name, row[3], row[4]) for name, row in zip(NAMES, ROWS, strict=True)]


@pytest.mark.parametrize(("name", "needs", "reached"), CASES, ids=NAMES)
def test_top_reaches_what_the_table_says(name, needs, reached):
    options = {"epsilon": 1.0, "delta": 1e-6, "mechanism": name, "counters": 8}
    if "--max-events" in needs:
        options["max_events"] = 40_000
    if "--domain" in needs:
        options |= {"domain": ["tea", "milk"], "delta": 0}
    data = ["tea"] * 40_000
    if reached.split(", ")[0] == "`top`":
        assert hc.top(data, **options).table["key"].to_pylist()[0] == "tea"
    else:
        with pytest.raises(HushcountError):
            hc.top(data, **options)
