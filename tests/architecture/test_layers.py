"""A layer imports only what the table of the architecture lets it; imports for types count too."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "hushcount"
BASE = {
    "errors",
    "privacy",
    "release",
    "release_files",
    "tree_release",
    "randomness",
    "secure",
    "hashing",
    "atomic",
    "compiled",
}
MAY_IMPORT = {
    "base": set(),
    "sources": {"base"},
    "sketches": {"base", "sources"},
    "accounting": {"base"},
    "mechanisms": {"base", "sketches", "accounting"},
    "ldp": {"base", "accounting"},
    "results": {"base"},
    "engines": {"base", "sources", "sketches"},
    "jobs": {"base", "sources", "sketches", "accounting", "mechanisms", "results", "engines"},
    "service": {"base", "ldp", "accounting", "results"},
}
EVERYTHING = set(MAY_IMPORT) | {"cli", "package"}
# Convenience methods that reach up when they are called, and only then.
LAZY = {
    ("release.py", "hushcount.results.estimators"),
    ("engines/spark.py", "hushcount.jobs.spark"),
}


def layer(module):
    """The layer of a module such as hushcount.sources.files."""
    parts = module.split(".")
    if len(parts) == 1:
        return "package"
    if parts[1] in BASE:
        return "base"
    if parts[1] == "__main__":
        return "cli"
    return parts[1] if parts[1] in EVERYTHING else "package"


def imports(tree, inside=False):
    """(module, whether inside a function) of every import of this package."""
    for node in ast.iter_child_nodes(tree):
        deeper = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(node, ast.Import):
            yield from ((alias.name, inside) for alias in node.names if alias.name.startswith("hushcount"))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            if node.module == "hushcount":
                yield from ((f"hushcount.{alias.name}", inside) for alias in node.names)
            elif node.module.startswith("hushcount."):
                yield node.module, inside
        yield from imports(node, deeper)


def offences(text, path):
    """The imports of a file, by its path inside the package, that its layer may not make."""
    module = "hushcount." + path.removesuffix(".py").replace("/", ".")
    own = "package" if path == "__init__.py" else layer(module.removesuffix(".__init__"))
    allowed = MAY_IMPORT.get(own, EVERYTHING) | {own}
    return [
        name
        for name, lazy in imports(ast.parse(text))
        if layer(name) not in allowed and not (lazy and (path, name) in LAZY)
    ]


@pytest.mark.parametrize("path", sorted(str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py")))
def test_imports(path):
    assert offences((SOURCE / path).read_text(), path) == []


def test_every_folder_is_a_layer():
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= set(MAY_IMPORT) | {"cli"}
    files = {path.stem for path in SOURCE.glob("*.py")}
    assert files <= BASE | {"__init__", "__main__"}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("sketches/linear.py", "from hushcount.mechanisms.base import Claim"),
        ("mechanisms/floor.py", "import hushcount.sources.files"),
        ("mechanisms/floor.py", "def f():\n    from hushcount.sources import open_source"),
        ("results/plots.py", "from hushcount.sketches.exact import Exact"),
        ("results/plots.py", "if TYPE_CHECKING:\n    from hushcount.sources.batches import Source"),
        ("release.py", "from hushcount.results.estimators import estimate_sum"),
        ("privacy.py", "from hushcount import jobs"),
        ("engines/spark.py", "from hushcount.mechanisms import release"),
        ("ldp/wire.py", "from hushcount.sketches.codec import load"),
        ("jobs/top.py", "from hushcount.cli import main"),
        ("jobs/top.py", "from hushcount import top"),
        ("sources/files.py", "import hushcount as hc"),
    ],
)
def test_every_way_round_is_seen(path, text):
    assert offences(text, path)


def test_what_is_allowed_is_allowed():
    assert offences("def f():\n    from hushcount.results.estimators import g", "release.py") == []
    assert offences("from hushcount.jobs.top import top", "cli/top.py") == []
    assert offences("from hushcount.sources.keys import KeyColumns", "jobs/origin.py") == []
