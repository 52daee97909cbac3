"""Every cell of docs/combinations.md is run, and the page says what came out."""

from itertools import product

import pytest
from tests import combinations

CELLS = list(product(combinations.JOBS, combinations.SOURCES, combinations.WAYS))
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in combinations.PAGE.read_text().splitlines()
    if line.startswith("| `")
]
SAID = dict(line.split(". ", 1) for line in combinations.PAGE.read_text().splitlines() if line[:1].isdigit())


def stated(job, source, way):
    """What the page says of a cell: that it works, or the sentence that its number stands for."""
    (row,) = [row for row in ROWS if row[:2] == [f"`{job}`", source]]
    cell = row[2 + combinations.WAYS.index(way)]
    return cell if cell == combinations.WORKS else SAID[cell.strip("[]")]


@pytest.mark.parametrize("cell", CELLS, ids="-".join)
def test_cells(cell):
    assert combinations.outcome(*cell) == stated(*cell)


def test_the_page_has_every_cell():
    found = {cell: stated(*cell) for cell in CELLS}
    assert combinations.page(found) == combinations.PAGE.read_text()
