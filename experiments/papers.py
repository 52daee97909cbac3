"""The experiments of the papers, and docs/claims.md, which is made from their results.

python -m experiments.papers
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from experiments.bassily2020.page import STUDY as BASSILY
from experiments.biswas2024.page import STUDY as BISWAS
from experiments.cohen2021.page import STUDY as COHEN
from experiments.common.claims import CHANGED, FAILS, HOLDS, table
from experiments.common.study import Study
from experiments.holland2025.page import STUDY as HOLLAND
from experiments.lebeda2023.page import STUDY as LEBEDA

STUDIES: dict[str, Study] = {
    "Holland 2025": HOLLAND,
    "Lebeda and Tětek 2023": LEBEDA,
    "Bassily et al. 2020": BASSILY,
    "Biswas et al. 2024": BISWAS,
    "Cohen et al. 2021": COHEN,
}
PAGE = Path(__file__).parents[1] / "docs" / "claims.md"
HEAD = """# What the papers claim, and what was found

One line for each claim of the [five papers](references.md) about what their algorithms achieve, judged on
results that this repository has made. Made by `python -m experiments.papers` from the `results.json` of
each folder.

- **holds**: as the paper says it, of what the paper describes;
- **holds with our change**: what the paper describes is not private as printed, or does not reach it, and
  the mechanism of hushcount does ([errata](errata.md) says what is changed and why);
- **fails**: neither does, on this data. What was found stands beside it.

| paper | holds | holds with our change | fails | results of |
|---|---|---|---|---|
"""


def page() -> str:
    """Return the page of all claims."""
    rows, tables = "", ""
    for paper, study in STUDIES.items():
        results = study.stored()
        claims = study.claims(results)
        number = Counter(claim.verdict for claim in claims)
        made, folder = results["made"], f"../experiments/{study.folder}/"
        counted = " | ".join(str(number[verdict]) for verdict in (HOLDS, CHANGED, FAILS))
        rows += f"| [{paper}]({folder}README.md) | {counted} | `{made['command']}`, {made['date']} |\n"
        tables += f"\n## {paper}\n\n{table(claims, folder)}"
    return HEAD + rows + tables


if __name__ == "__main__":
    PAGE.write_text(page())
