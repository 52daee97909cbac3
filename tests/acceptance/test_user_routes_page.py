"""The page of user-level routes says what the functions compute."""

from __future__ import annotations

import re
from pathlib import Path

from hushcount.mechanisms.users import user_routes

PAGE = (Path(__file__).parents[2] / "docs" / "user-routes.md").read_text()


def test_the_first_table_is_up_to_date() -> None:
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", PAGE.split("\n## ")[1], re.MULTILINE)
    assert (rows[0][0], rows[-1][0]) == ("1", "1000")
    for keys, cells in rows[::5]:
        exact, group, *users = [int(cell.strip("* ").replace(",", "")) for cell in cells.split("|")]
        for counters, one in zip((100, 1000, 10_000, 100_000), users, strict=True):
            found = {
                route.name: route.reliable for route in user_routes(1.0, 1e-6, int(keys), counters, True)
            }
            assert found == {"exact": exact, "group": group, "pamg": one}
