"""The page and the picture of the comparison of key releases, from its results."""

# ruff: noqa: E501 (lines of the page)
from __future__ import annotations

import math
from pathlib import Path

ROUTES = ("steered", "sips", "weighted", "counts", "OpenDP", "PipelineDP")
COLOURS = ("#1b5e8c", "#4f94c4", "#a9cce3", "#8a8a8a", "#d98c3f", "#7a4fa3")
HEAD = """# Keys without counts: how many are found

`hushcount keys` beside a table with counts of the same data, OpenDP {opendp} and PipelineDP {pipelinedp}: 60,000 users,
1,000,000 possible keys, epsilon 1, delta 1e-6, one run. Keys follow Zipf's law of the power shown; numbers of keys per
user are lognormal(2, 1.3) or Pareto, rounded up, at most 1,000. *counts* is the expected size of an exact table of
users (the better of the truncated geometric and the Gaussian threshold). *counts*, OpenDP and PipelineDP need a bound m
on the keys of a user; each has the best of m = 1, 2, 4, 8, 16, 32, chosen by looking at the result, which a real
release cannot do. hushcount's three methods need no such choice (at most 1,000 keys per user).

OpenDP is its Laplace threshold on numbers of users by key; the threshold is the smallest for which it claims delta (in
this version that delta is too small, see tests/privacy/twins/opendp.py). PipelineDP is the better of its truncated
geometric and Gaussian strategies. Keys of fewer than four users are left out for both: each would be selected with
a probability below 2e-5. Made by `make keys` on {date}, in one run. Proofs: [selection](proofs/keys/selection.md).

![Keys found by each route](images/keys.svg)

## Users

| keys per user | Zipf | steered | sips | weighted | counts (m) | OpenDP (m) | PipelineDP (m) | steered / best other |
|---|---|---|---|---|---|---|---|---|
"""
EVENTS = """
## Events

One million rows, each protected on its own; hushcount's mechanism is the truncated geometric, which PipelineDP has
too, so these two differ by chance alone: one run by about 20, 15 and 6 keys (standard deviations).

| Zipf | hushcount | OpenDP | PipelineDP |
|---|---|---|---|
"""
Row = dict[str, float | str]


def write(results: dict, root: Path) -> None:
    """Write docs/keys.md and docs/images/keys.svg."""
    names = {name.replace("-", ""): value for name, value in results["versions"].items()}
    lines = [HEAD.format(**names, date=results["date"])]
    for row in results["users"]:
        others = max(row[name] for name in ("counts", "OpenDP", "PipelineDP"))
        cells = [f"{row[name]:,}" for name in ("steered", "sips", "weighted")]
        cells += [f"{row[name]:,} ({row[f'{name} m']})" for name in ("counts", "OpenDP", "PipelineDP")]
        ratio = row["steered"] / others
        lines.append(f"| {row['sizes']} | {row['zipf']} | {' | '.join(cells)} | {ratio:.2f} |\n")
    lines.append(EVENTS)
    for row in results["events"]:
        lines.append(
            f"| {row['zipf']} | {row['hushcount']:,} | {row['OpenDP']:,} | {row['PipelineDP']:,} |\n"
        )
    (root / "docs" / "keys.md").write_text("".join(lines))
    (root / "docs" / "images" / "keys.svg").write_text(picture(results["users"]))


def picture(rows: list[Row]) -> str:
    """Return bars: for each data set the keys of every route, relative to the table with counts."""
    width, top, high = 960, 40, 220
    largest = max(float(row[name]) / float(row["counts"]) for row in rows for name in ROUTES)
    group = (width - 60) / len(rows)
    bar = group * 0.8 / len(ROUTES)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 330" font-family="sans-serif" font-size="11"'
        ' role="img"><title>Keys found by each route, relative to a table with counts</title>',
        f'<rect width="{width}" height="330" fill="white"/>',
    ]
    for place, row in enumerate(rows):
        left = 50 + place * group
        for index, name in enumerate(ROUTES):
            share = float(row[name]) / float(row["counts"])
            tall = high * share / largest
            parts.append(
                f'<rect x="{left + index * bar:.1f}" y="{top + high - tall:.1f}" width="{bar * 0.92:.1f}"'
                f' height="{tall:.1f}" fill="{COLOURS[index]}"><title>{name}: {row[name]:,}</title></rect>'
            )
        parts.append(f'<text x="{left}" y="{top + high + 16}">{row["sizes"]}</text>')
        parts.append(f'<text x="{left}" y="{top + high + 30}">Zipf {row["zipf"]}</text>')
    level = top + high - high / largest
    parts.append(
        f'<line x1="45" x2="{width - 10}" y1="{level:.1f}" y2="{level:.1f}" stroke="black" stroke-dasharray="4"/>'
    )
    for share in range(math.floor(largest) + 1):
        parts.append(
            f'<text x="40" y="{top + high - high * share / largest + 4:.1f}" text-anchor="end">{share}</text>'
        )
    caption = "Keys found, as a multiple of those of an exact table with counts (dashed line): 60,000 users, epsilon 1, delta 1e-6"
    parts.append(f'<text x="50" y="{top + high + 56}" font-size="12">{caption}</text>')
    for index, name in enumerate(ROUTES):
        parts.append(f'<rect x="{50 + index * 110}" y="12" width="10" height="10" fill="{COLOURS[index]}"/>')
        parts.append(f'<text x="{64 + index * 110}" y="21">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])
