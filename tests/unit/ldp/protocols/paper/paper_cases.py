"""What the tests of the protocols of Bassily et al. 2020 share: words and how many users have each."""

import string

from hushcount import ldp

WORDS = ldp.Words(string.ascii_lowercase, 6)
HEAVY = {"tea": 9000, "milk": 8000, "salt": 7000, "breads": 6000}
LIGHT = {"".join(string.ascii_lowercase[(7 * i + j * i + j) % 26] for j in range(5)): 40 for i in range(250)}
COUNTS = HEAVY | LIGHT
USERS = sum(COUNTS.values())
EXPIRES = 253_402_300_799


def by_key(release):
    """Published counts by item."""
    return dict(zip(release.keys["key"].to_pylist(), release.counts.to_pylist(), strict=True))


def inside(release, truth):
    """How many of the published items have a true count between lower and upper."""
    rows = release.table.to_pylist()
    return sum(row["lower"] <= truth.get(row["key"], 0) <= row["upper"] for row in rows)
