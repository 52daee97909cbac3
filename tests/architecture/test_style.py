"""Small files, small functions, and no word of privacy budgets where state is kept."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "hushcount"
FILES = sorted(SOURCE.rglob("*.py"))
LONGEST_FILE = 300
LONGEST_FUNCTION = 60


def name(path):
    return str(path.relative_to(SOURCE))


def body_lines(function):
    """Lines of code: the docstring is not counted."""
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    words = first.end_lineno - first.lineno + 1 if documented else 0
    return function.end_lineno - function.lineno + 1 - words


@pytest.mark.parametrize("path", FILES, ids=name)
def test_sizes(path):
    text = path.read_text()
    assert len(text.splitlines()) < LONGEST_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert body_lines(node) <= LONGEST_FUNCTION, node.name


@pytest.mark.parametrize("path", sorted((SOURCE / "sketches").rglob("*.py")), ids=name)
def test_sketches_know_no_budget(path):
    assert "epsilon" not in path.read_text().lower()


@pytest.mark.parametrize("path", FILES, ids=name)
def test_every_module_says_what_it_is(path):
    assert ast.get_docstring(ast.parse(path.read_text()))
