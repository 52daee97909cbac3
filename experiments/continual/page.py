"""The results as a page and a picture."""

from __future__ import annotations

from typing import Any

HEAD = """# A simulated year of daily tables

Generated on {date} by `python -m experiments.continual.run`; the figures are in `results.json`.

{events:,} events of {keys:,} keys in {days} days: Zipf({exponent}), and half of the keys are replaced on a
random day. All three ways protect one event with epsilon {epsilon:g} and delta {delta:g} for the whole year;
none knows the keys.

- *Disjoint nights*: every day is released by itself, and the days are added up.
- *sqrt-Toeplitz*: each key has a running total with noise of the square root of the matrix of sums, tested at
  the end of the year (Gaussian noise in floating point).
- *Gate and levels*: `hushcount watch` with levels of 1 and 28 days, exact noise.

| | keys published | of the {frequent:,} keys with 50 events or more | mean error of the 1000 most frequent |
|---|---|---|---|
"""
FOOT = """
![How many keys are published](year.svg)

Of the keys that gate and levels published, {covered:.1%} lie in their interval of 95%, which is stated for
keys chosen before seeing the feed. The draws took {seconds} s of processor time for the year, without the
database that keeps the counts.
"""


def page(results: dict[str, Any]) -> str:
    """Return the page."""
    rows = "".join(
        f"| {name} | {row['published']:,} | {row['recall']:.1%} | {row['error']:,.1f} |\n"
        for name, row in results["rows"].items()
    )
    return HEAD.format(**{**results["settings"], **results}) + rows + FOOT.format(**results)


def picture(results: dict[str, Any]) -> str:
    """Return bars of published keys and of recall as SVG."""
    rows, parts = results["rows"], []
    most = max(row["published"] for row in rows.values())
    for place, (name, row) in enumerate(rows.items()):
        y = 34 + 52 * place
        width = 420 * row["published"] / most
        parts.append(
            f'<text x="150" y="{y + 20}" text-anchor="end">{name}</text>'
            f'<rect x="160" y="{y}" width="{width:.1f}" height="30" fill="#2a78a0"/>'
            f'<text x="{168 + width:.1f}" y="{y + 20}">{row["published"]:,} keys,'
            f" {row['recall']:.0%} of the frequent</text>"
        )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 200" font-family="sans-serif"'
        ' font-size="14">'
        '<rect width="800" height="200" fill="white"/>'
        '<text x="160" y="20" font-weight="bold">Keys published in a year</text>'
        + "".join(parts)
        + "</svg>\n"
    )
