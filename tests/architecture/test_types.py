"""`Any` is rare outside kernels and in no public signature; our own types are not probed."""

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "hushcount"
MOST_ANY = 100
PROBE = re.compile(r"\b(getattr\([^()]*,[^()]*,[^()]*\)|hasattr\()")
# Probes of what others hand in: data in memory, iterables, libraries and the operating system.
OTHERS = {
    "hierarchies/registry.py",
    "jobs/release.py",
    "keys/domains.py",
    "keys/memory.py",
    "keys/objects.py",
    "sketches/tables/pages.py",
    "stores/duckdb.py",
}


def is_kernel(path):
    return "_kernels" in path.parts or path.parent.name == "compiled"


def test_any_is_rare():
    texts = [path.read_text() for path in SOURCE.rglob("*.py") if not is_kernel(path)]
    used = sum(len(re.findall(r"\bAny\b", text)) - text.count("import Any") for text in texts)
    assert used < MOST_ANY


def test_no_public_job_takes_any():
    for name in ("top", "tree", "sample", "oracle", "release"):
        tree = ast.parse((SOURCE / "jobs" / f"{name}.py").read_text())
        job = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
        annotations = [argument.annotation for argument in (*job.args.args, *job.args.kwonlyargs)]
        assert all("Any" not in ast.unparse(note) for note in annotations if note is not None), name


def test_our_own_types_are_not_probed():
    probing = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if not is_kernel(path) and PROBE.search(path.read_text())
    }
    assert probing <= OTHERS
