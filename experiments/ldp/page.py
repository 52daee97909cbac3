"""The results as a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HEAD = """# Local protocols on words of six letters

Two data sets (`data.py`): 26,000 English words cut to six letters, from the word frequencies of the package
wordfreq, and 93 random words with Zipf(1.5) frequencies. Every user holds one word. A word is heavy if its
count is at least tau = 15 sqrt(n), where n is the number of users, as in Bassily et al. 2020, Section 4.2.
Their Table 2 has precision .24 and recall .86 on the words of the Brown corpus, and .36 and .95 on 93 words
of their own. Those are other words, so the figures show the order of magnitude and no more.
"""
REQUIRED = """
## What must be reached

`python -m experiments.ldp.table`, {date}: means of {seeds} campaigns of {users:,} users. In brackets is what
the mean must reach. Smallest: the lowest true count of a published word in all campaigns, in units of tau; it
must be at least one half. Server: CPU seconds for all reports, from the bytes to the result; at most 5.

| method | data | epsilon | precision (required) | recall (required) | smallest | server, CPU s | holds |
|---|---|---|---|---|---|---|---|
"""
COMPARED = """
## Compared

`python -m experiments.ldp.run`, {date}. In every cell: precision / recall / mean relative error of the heavy
words found; means of {seeds}.
Precision counts as 1 if nothing is published.
"list" methods cannot search: they are asked for the counts of 26,093 words, those of both data sets, so they
are told every heavy word. The others search among all words of six letters. Every method publishes an
estimate that reaches both tau and the quantile at which one campaign in a hundred shows an absent word.

- RAPPOR: unary encoding, one-time, without Bloom filter; a report is 26,093 bits. Erlingsson et al.
  2014.
- OUE: optimised unary encoding, with reports of the same length. Wang et al. 2017.
- HCMS: Hadamard count mean sketch, 1,024 rows of 1,024 cells, one bit per report. Apple 2017.
- PEM: prefix extending by two letters with optimal local hashing, three equal groups, the n / tau best
  prefixes kept. Wang et al. 2019. Its server hashes every candidate for every report, where ours need one
  transform.
- TreeHist and Bitstogram: hushcount.ldp, one byte of answer in a report of 18.
"""
FIGURES = """
![recall](figures/recall.svg)
![relative error](figures/relative_error.svg)
![recall against users](figures/recall_users.svg)
![variance](figures/variance.svg)
"""


# Page of docs: its table of figures, which is made from required.json.
TABLES = {
    "ldp.md": (
        "| | words: precision / recall | Zipf 1.5: precision / recall | server, CPU s |",
        (
            ("epsilon 2", "TreeHist", 2.0),
            ("epsilon 1", "TreeHist", 1.0),
            ("epsilon 4", "TreeHist", 4.0),
            ("epsilon 2, one bit per report", "TreeHist, 1 bit", 2.0),
        ),
    ),
    "ldp-bitstogram.md": (
        "| | words: precision / recall | Zipf 1.5: precision / recall | server, CPU s |",
        (("by chunks", "Bitstogram", 2.0), ("by a code, one bit per report", "Bitstogram, binary", 2.0)),
    ),
}
BEGIN, END = "<!-- figures of experiments/ldp/required.json -->\n", "<!-- end of the figures -->"


def write_page(folder: Path) -> None:
    """Write README.md from the results that are there, and the tables of docs that show the same figures."""
    required = _load(folder / "required.json")
    (folder / "README.md").write_text(page(required, _load(folder / "results.json")))
    for name in TABLES if required else ():
        path = folder.parents[1] / "docs" / name
        path.write_text(with_figures(path.read_text(), name, required or {}))


def with_figures(text: str, name: str, required: dict[str, Any]) -> str:
    """Return a page of docs with its figures replaced by those of required.json."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + figures_table(name, required) + END + rest.partition(END)[2]


def figures_table(name: str, required: dict[str, Any]) -> str:
    """Return the table of a page of docs."""
    head, rows = TABLES[name]
    lines = [head, "|---|---|---|---|"]
    for label, method, epsilon in rows:
        found = {
            row["data"]: row
            for row in required["rows"]
            if (row["method"], row["epsilon"]) == (method, epsilon)
        }
        pairs = [_pair(found[data]) if data in found else "" for data in ("words", "zipf")]
        lines.append(f"| {label} | {' | '.join(pairs)} | {found['words']['server_seconds']:.1f} |")
    return "\n".join(lines) + "\n"


def _pair(row: dict[str, Any]) -> str:
    return f"{row['precision']:.3f} / {row['recall']:.3f}"


def _load(path: Path) -> dict[str, Any] | None:
    return json.loads(path.read_text()) if path.exists() else None


def page(required: dict[str, Any] | None, compared: dict[str, Any] | None) -> str:
    """The head, the table of what must be reached, and the comparison."""
    text = HEAD
    if required:
        text += REQUIRED.format(**required) + "".join(map(_required, required["rows"]))
    if compared:
        text += COMPARED.format(date=compared["date"], seeds=_seeds(compared["rows"])) + _tables(
            compared["rows"]
        )
        text += FIGURES
    return text


def _required(row: dict[str, Any]) -> str:
    cells = [
        row["method"],
        row["data"],
        f"{row['epsilon']:g}",
        f"{row['precision']:.3f} ({row['least_precision']})",
        f"{row['recall']:.3f} ({row['least_recall']})",
        f"{row['least_count']:.2f}",
        f"{row['server_seconds']:.1f}",
        "yes" if row["holds"] else "**no**",
    ]
    return "| " + " | ".join(cells) + " |\n"


def _seeds(rows: list[dict[str, Any]]) -> str:
    seeds = {row["users"]: row["seeds"] for row in rows}
    return ", ".join(
        f"{number} {'seed' if number == 1 else 'seeds'} at {users:,} users" for users, number in seeds.items()
    )


def _tables(rows: list[dict[str, Any]]) -> str:
    text = ""
    for name, users in dict.fromkeys((row["data"], row["users"]) for row in rows):
        part = [row for row in rows if (row["data"], row["users"]) == (name, users)]
        epsilons = list(dict.fromkeys(row["epsilon"] for row in part))
        text += f"\n### {name}, {users:,} users, {part[0]['heavy']:.0f} heavy\n\n"
        text += "| method | " + " | ".join(f"epsilon {epsilon:g}" for epsilon in epsilons) + " |\n"
        text += "|---" * (len(epsilons) + 1) + "|\n"
        for method in dict.fromkeys(row["method"] for row in part):
            cells = [_cell(row) for row in part if row["method"] == method]
            text += f"| {method} | " + " | ".join(cells) + " |\n"
    return text


def _cell(row: dict[str, Any]) -> str:
    error = "-" if row["relative_error"] is None else f"{row['relative_error']:.1%}"
    return f"{row['precision']:.2f} / {row['recall']:.2f} / {error}"
