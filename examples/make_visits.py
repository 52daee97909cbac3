"""Make visits.parquet: who visited which page on the site of a town that does not exist.

The same table every time. A user has between one and a few dozen visits. One visit in 50 is to a page that
nobody else visits, such as that of one parking fine: these must never be published.
"""

from __future__ import annotations

import random
from itertools import accumulate
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

SEED = 7
USERS = 20_000
MOST_VISITS = 40
PRIVATE_SHARE = 0.02
EXPONENT = 1.2
SECTIONS = (
    "museum,market,library,ferry,school,tennis,garden,concert,bakery,harbour,theatre,cinema,bicycle,parking,"
    "forest,castle,playground,pharmacy,station,stadium"
)
PAGES = ("hours", "tickets", "map", "news", "contact", "prices", "events", "history")
PATH = Path(__file__).with_name("visits.parquet")


def visits() -> pa.Table:
    """Return the table: user, section, page."""
    generator = random.Random(SEED)
    names = SECTIONS.split(",")
    weights = list(accumulate((rank + 1) ** -EXPONENT for rank in range(len(names))))
    rows: list[tuple[str, str, str]] = []
    for user in range(USERS):
        for _ in range(min(int(generator.paretovariate(1.3)), MOST_VISITS)):
            section = generator.choices(names, cum_weights=weights)[0]
            page = f"/{section}/{PAGES[int(generator.paretovariate(1)) % len(PAGES)]}"
            if generator.random() < PRIVATE_SHARE:
                page = f"/{section}/fines/{generator.randrange(10**7):07}"
            rows.append((f"user{user:05}", section, page))
    generator.shuffle(rows)
    users, sections, pages = zip(*rows, strict=True)
    return pa.table({"user": users, "section": sections, "page": pages})


if __name__ == "__main__":
    parquet.write_table(visits(), PATH, compression="zstd", compression_level=19)
