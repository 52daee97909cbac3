"""Files of oracles as a job: write, merge, look at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hushcount.errors import ParameterError
from hushcount.files.atomic import PathLike, check_writable, refuse_same
from hushcount.releases.oracle import Oracle


def inspect_oracle(path: PathLike) -> dict[str, object]:
    """Describe an oracle file, which may be published."""
    oracle = Oracle.load(path)
    return {
        "kind": f"oracle of {oracle.hashing.kind}",
        "depth": oracle.hashing.depth,
        "width": oracle.hashing.width,
        "key_type": str(oracle.key_type),
        "privacy": oracle.guarantee.statement(),
        "notes": oracle.notes,
        "size": Path(path).stat().st_size,
    }


def merge_oracles(paths: Sequence[PathLike], output: PathLike | None = None) -> Oracle:
    """Add up oracle files that have the same hash key, and write the sum to `output` if it is given."""
    if output is not None:
        check_writable(output)
    refuse_same([output], paths)
    if len(paths) < 2:
        raise ParameterError("merge needs at least two oracles.")
    first, *others = [Oracle.load(path) for path in paths]
    for other in others:
        first = first.merge(other)
    return written(first, output)


def written(made: Oracle, output: PathLike | None, report: PathLike | None = None) -> Oracle:
    """Return an oracle that has been written, and described, if that is asked for."""
    if output is not None:
        made.save(output)
    if report is not None:
        made.report(report)
    return made
