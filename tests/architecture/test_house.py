"""tests/unit mirrors the package, and class names are unique in it."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "hushcount"
UNIT = ROOT / "tests" / "unit"


def test_unit_tests_mirror_the_package():
    modules = {path.relative_to(SOURCE).with_name(f"test_{path.name}") for path in SOURCE.rglob("*.py")}
    tests = {path.relative_to(UNIT) for path in UNIT.rglob("test_*.py")}
    assert sorted(map(str, tests - modules)) == []


def test_public_class_names_are_unique():
    places = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(SOURCE)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
