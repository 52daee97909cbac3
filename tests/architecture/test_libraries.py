"""A library has its rooms; nothing else imports it."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "hushcount"
ROOMS = {
    "duckdb": ("sources/duckdb", "stores"),
    "pyspark": ("jobs/spark",),
    "scipy": ("noise",),
    "numba": ("compiled", "_kernels"),
    "llvmlite": ("compiled", "_kernels"),
    "rich": ("releases/views", "cli"),
    "click": ("cli",),
    "psycopg": ("stores",),
    "adbc_driver_manager": ("stores",),
    "adbc_driver_postgresql": ("stores",),
    "sqlite3": ("stores",),
    "cryptography": ("releases/stored", "ldp/wire"),
    "starlette": ("service",),
    "uvicorn": ("service",),
    "msgspec": ("service",),
}


def imported(tree):
    """The libraries that a file imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def offences(text, path):
    """The libraries of a file, by its path inside the package, that are at home in other rooms."""
    libraries = set(imported(ast.parse(text))) & set(ROOMS)
    return {library for library in libraries if not any(room in path for room in ROOMS[library])}


@pytest.mark.parametrize("path", sorted(str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py")))
def test_libraries_stay_in_their_rooms(path):
    assert offences((SOURCE / path).read_text(), path) == set()


def test_the_check_can_fail():
    assert offences("def f():\n    import duckdb", "mechanisms/base.py") == {"duckdb"}
    assert offences("from scipy import special", "mechanisms/thresholds.py") == {"scipy"}
