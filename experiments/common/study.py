"""One shape for the experiments of a paper: a run gives results.json, and all else is made from that."""

from __future__ import annotations

import argparse
import json
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from experiments.common.claims import Claim, table

from hushcount.errors import PrivacyWarning

Results = dict[str, Any]
Row = dict[str, Any]
ROOT = Path(__file__).parents[1]
FRONT = """# {title}

Made by `{command}` on {date}; the numbers are in `results.json`, from which this page and its figures are
made. `make experiments` runs it at the size `small`, `make experiments-full` at the sizes of the paper.

{setting}

## Claims

{claims}
"""


@dataclass(frozen=True)
class Study:
    """The experiments of one paper: its folder, and what is made from the results."""

    folder: str
    title: str
    setting: Callable[[Results], str]
    claims: Callable[[Results], list[Claim]]
    figures: Callable[[Results], dict[str, str]]
    body: Callable[[Results], str]

    def page(self, results: Results) -> str:
        """Return the page of the results: the setting, the claims, then what the paper's study adds."""
        front = FRONT.format(
            title=self.title,
            setting=self.setting(results),
            claims=table(self.claims(results)).rstrip(),
            **results["made"],
        )
        return front + self.body(results).rstrip() + "\n"

    def write(self, results: Results, folder: Path) -> None:
        """Write the results, the page and the figures."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "results.json").write_text(lines_of(results))
        self.draw(folder)

    def draw(self, folder: Path) -> None:
        """Write the page and the figures of the results that are in a folder."""
        results = json.loads((folder / "results.json").read_text())
        (folder / "README.md").write_text(self.page(results))
        (folder / "figures").mkdir(exist_ok=True)
        for name, picture in self.figures(results).items():
            (folder / "figures" / f"{name}.svg").write_text(picture)

    def stored(self) -> Results:
        """Return the results that are kept in the repository."""
        found: Results = json.loads((ROOT / self.folder / "results.json").read_text())
        return found


def lines_of(results: Results) -> str:
    """Return results as JSON with one row on a line, so that two runs can be compared by their lines."""
    rows = ",\n".join(json.dumps(row) for row in results["rows"])
    rest = {name: value for name, value in results.items() if name != "rows"}
    return json.dumps(rest, indent=1).removesuffix("\n}") + f',\n "rows": [\n{rows}\n]}}\n'


def asked(study: Study, sizes: Iterable[str], arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options of a run: its size, its repetitions, and the folder of its results."""
    parser = argparse.ArgumentParser(description=study.title)
    parser.add_argument("--size", choices=list(sizes), default="small")
    parser.add_argument("--repetitions", type=int, help="instead of those of the size")
    parser.add_argument("--folder", type=Path, default=ROOT / study.folder)
    parser.add_argument("--only-page", action="store_true", help="draw the results that are in the folder")
    warnings.simplefilter("ignore", PrivacyWarning)  # the budgets are those of the papers, not to be imitated
    return parser.parse_args(arguments)


def made(study: Study, chosen: argparse.Namespace) -> dict[str, str]:
    """Return the command of a run and its date."""
    command = f"python -m experiments.{study.folder}.run --size {chosen.size}"
    if chosen.repetitions is not None:
        command += f" --repetitions {chosen.repetitions}"
    return {"command": command, "date": datetime.now(UTC).strftime("%Y-%m-%d"), "size": chosen.size}


def summary(samples: Sequence[Mapping[str, float]]) -> Row:
    """Return the mean of each figure, and its 5% and 95% quantiles as name_low and name_high."""
    found: Row = {}
    for name in samples[0]:
        values = [each[name] for each in samples if not math.isnan(each[name])]
        if not values:
            found[name] = None
            continue
        found[name] = short(float(np.mean(values)))
        if len(values) > 1 and min(values) < max(values):
            low, high = np.quantile(values, [0.05, 0.95])
            found[f"{name}_low"], found[f"{name}_high"] = short(float(low)), short(float(high))
    return found


def short(value: float) -> float:
    """Return a number with six significant digits."""
    return float(f"{value:.6g}")


def markdown(rows: Iterable[Row], columns: Mapping[str, str]) -> str:
    """Return rows as a table; columns are names with their titles."""
    lines = ["| " + " | ".join(columns.values()) + " |", "|---" * len(columns) + "|"]
    lines += ["| " + " | ".join(shown(row.get(name)) for name in columns) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def shown(value: Any) -> str:
    """Return a cell of a table."""
    if value is None:
        return "-"
    if isinstance(value, float) and value != int(value):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    if isinstance(value, int | float):
        return f"{int(value):,}"
    return str(value)


def pictures(names: Mapping[str, str]) -> str:
    """Return links to figures with their captions."""
    return "".join(f"\n![{caption}](figures/{name}.svg)\n\n{caption}\n" for name, caption in names.items())


def rows_where(rows: Iterable[Row], **equal: object) -> list[Row]:
    """Return the rows that have these values."""
    return [row for row in rows if all(row[name] == value for name, value in equal.items())]


def column(rows: Iterable[Row], name: str, **equal: object) -> list[float]:
    """Return the figures of the rows that have these values, in their order, without the missing ones."""
    return [row[name] for row in rows_where(rows, **equal) if row[name] is not None]
