"""Small files, small functions, few arguments, small folders; and every module says what it is."""

import ast
import statistics
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "hushcount"
FILES = sorted(SOURCE.rglob("*.py"))
LONGEST_FILE = 300
LONGEST_FUNCTION = 50
MEDIAN_FUNCTION = 8
MODULES_IN_A_FOLDER = 15
MOST_ARGUMENTS = 5
# Functions that do a whole job in one call, and constructors of campaigns: their arguments are options.
ONE_CALL = {
    "jobs/top.py:top",
    "jobs/tree.py:tree",
    "jobs/sample.py:sample",
    "jobs/oracle.py:oracle",
    "jobs/release.py:release",
    "jobs/spark/release.py:top",
    "jobs/sketch_files.py:write_sketch",
    "sources/open.py:open_source",
    "ldp/protocols/paper/bitstogram.py:__init__",
    "ldp/protocols/paper/tree_hist.py:__init__",
    "ldp/protocols/paper/oracles.py:__init__",
    "ldp/protocols/paper/succinct_hist.py:__init__",
    "ldp/protocols/tree_hist/protocol.py:__init__",
    "ldp/protocols/bitstogram/protocol.py:__init__",
}


def name(path):
    return str(path.relative_to(SOURCE))


def is_kernel(path):
    return "_kernels" in path.parts or path.parent.name == "compiled"


def functions(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def body_lines(function):
    """Lines of code: the docstring is not counted."""
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    words = first.end_lineno - first.lineno + 1 if documented else 0
    return function.end_lineno - function.lineno + 1 - words


def arguments(function):
    every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return len([argument for argument in every if argument.arg not in ("self", "cls")])


@pytest.mark.parametrize("path", FILES, ids=name)
def test_sizes(path):
    assert len(path.read_text().splitlines()) <= LONGEST_FILE
    for function in functions(path):
        assert body_lines(function) <= LONGEST_FUNCTION, function.name
        if not is_kernel(path) and f"{name(path)}:{function.name}" not in ONE_CALL:
            assert arguments(function) <= MOST_ARGUMENTS, function.name


def test_half_of_all_functions_are_short():
    lines = [body_lines(function) for path in FILES for function in functions(path)]
    assert statistics.median(lines) <= MEDIAN_FUNCTION


def test_folders_are_small():
    modules = Counter(path.parent for path in FILES if path.name != "__init__.py")
    assert {name(folder): count for folder, count in modules.items() if count > MODULES_IN_A_FOLDER} == {}


@pytest.mark.parametrize("path", sorted((SOURCE / "sketches").rglob("*.py")), ids=name)
def test_sketches_know_no_budget(path):
    assert "epsilon" not in path.read_text().lower()


@pytest.mark.parametrize("path", FILES, ids=name)
def test_every_module_says_what_it_is(path):
    assert ast.get_docstring(ast.parse(path.read_text()))
