"""Options that tell how much a row counts, or for how many events it stands."""

from __future__ import annotations

from hushcount.cli.options import text, whole

SIZED = (
    text("--weight COLUMN", "Column of how much a row counts, one event of that size; counts are then sums."),
    whole("--max-weight W", "With --weight: the most that a row counts (1); noise grows with it."),
    text(
        "--times COLUMN",
        "Column of how often a row was counted already; it is so many events, of which one is protected.",
    ),
)
