"""Run every contest and write docs/peers.md: python -m benchmarks.peers [--full] [--only NAME]

`make peers` makes the environments of the other libraries first. Each program is a process of its own,
stopped after LIMIT seconds; what it says then stands in the table in place of figures.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.machine import facts
from benchmarks.peers import contests, data, measured
from benchmarks.peers.page import page
from benchmarks.peers.score import score

ROOT = Path(__file__).parents[2]
RESULTS, PAGE = Path(__file__).parent / "results.json", ROOT / "docs" / "peers.md"
LIMIT = 900.0
FEW = 20_000


def interpreter(entrant: contests.Entrant) -> Path:
    """Return the Python that has the library of an entrant."""
    if not entrant.environment:
        return Path(sys.executable)
    return ROOT / ".venv-peers" / entrant.environment / "bin" / "python"


def compiled() -> None:
    """Run hushcount's programs on a few rows, so that its loops are compiled before anything is measured."""
    with tempfile.TemporaryDirectory() as folder:
        events, local = Path(folder) / "events.parquet", Path(folder) / "local.parquet"
        data.write_events(events, FEW)
        data.write_local(local, FEW)
        budget = [str(contests.EPSILON), str(contests.DELTA), str(contests.MAX_KEYS)]
        for task in ("exact", "sketch", "users", "keys", "local"):
            path = local if task == "local" else events
            measured.run(Path(sys.executable), contests.EXACT.program, task, [str(path), *budget], LIMIT)


def one(
    entrant: contests.Entrant, contest: contests.Contest, path: Path, true: dict[str, int]
) -> dict[str, Any]:
    """Return what one entrant published and what it took, or why it did not."""
    asked = [str(path), str(contest.epsilon), str(contests.DELTA), str(contests.MAX_KEYS)]
    try:
        run = measured.run(interpreter(entrant), entrant.program, entrant.task, asked, LIMIT)
    except measured.ProgramError as failure:
        return {"name": entrant.name, "task": entrant.task, "failed": str(failure)}
    said = {name: run.published[name] for name in ("version", "mechanism")}
    took = {"cpu_s": run.cpu_s, "wall_s": run.wall_s, "peak_mb": run.peak_mb}
    return {"name": entrant.name, "task": entrant.task, **said, **score(run.published, true), **took}


def held(contest: contests.Contest, folder: Path) -> dict[str, Any]:
    """Hold one contest."""
    path = folder / f"{contest.name}.parquet"
    (data.write_local if contest.name == "local" else data.write_events)(path, contest.rows)
    true = data.truth(path, contest.counted)
    rows = []
    for entrant in contest.entrants:
        rows.append(one(entrant, contest, path, true))
        print(contest.name, rows[-1], flush=True)
    path.unlink()
    about = {"title": contest.title, "rows": contest.rows, "keys": len(true), "epsilon": contest.epsilon}
    return {**about, "delta": contests.DELTA, "date": datetime.date.today().isoformat(), "entrants": rows}


def main() -> None:
    """Hold the contests that are asked for; the results of others stay as they are."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--full", action="store_true", help="also those of 20 million rows")
    parser.add_argument("--only", choices=[each.name for each in contests.CONTESTS])
    options = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"contests": {}}
    results["machine"] = facts()
    compiled()
    for contest in contests.CONTESTS:
        if options.only == contest.name or (options.only is None and (options.full or not contest.full)):
            with tempfile.TemporaryDirectory() as folder:
                results["contests"][contest.name] = held(contest, Path(folder))
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(page(results))


if __name__ == "__main__":
    main()
