"""Only hushcount.secure makes random bits: nothing else in the package draws from any generator."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "hushcount"
MODULES = {"random", "secrets", "numpy.random"}
NAMES = {"urandom", "getrandom", "uuid1", "uuid4", "random", "default_rng", "RandomState", "rvs"}


def offences(text):
    """Line and name of everything that could draw random values."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names if alias.name in MODULES]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            if node.module in MODULES:
                found.append((node.lineno, node.module))
            found += [(node.lineno, alias.name) for alias in node.names if alias.name in NAMES]
        elif isinstance(node, ast.Attribute) and node.attr in NAMES:
            found.append((node.lineno, node.attr))
    return found


@pytest.mark.parametrize(
    "path",
    sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "secure.py"),
    ids=lambda path: str(path.relative_to(SOURCE)),
)
def test_no_other_module_draws(path):
    assert offences(path.read_text()) == []


def test_the_one_module_that_may_is_seen():
    assert {name for _, name in offences((SOURCE / "secure.py").read_text())} == {"urandom"}


@pytest.mark.parametrize(
    "text",
    [
        "import random",
        "import random as r",
        "from random import shuffle",
        "import secrets",
        "import numpy as np\nnp.random.normal()",
        "from numpy import random",
        "from numpy.random import default_rng",
        "import os\nos.urandom(3)",
        "from os import urandom as bits",
        "import uuid\nuuid.uuid4()",
        "from uuid import uuid4",
        "from scipy.stats import norm\nnorm.rvs()",
        "def f():\n    import secrets",
    ],
)
def test_every_way_round_is_seen(text):
    assert offences(text)
