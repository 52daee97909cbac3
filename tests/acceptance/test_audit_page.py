"""The examples of docs/audit.md run as they stand; the one for pytest has a test of its own."""

import re
from pathlib import Path

from hushcount.audit.neighbours import SHAPES

PAGE = (Path(__file__).parents[2] / "docs" / "audit.md").read_text()
BLOCKS = [
    block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "import pytest" not in block
]


def test_the_examples_run(capsys):
    names = {}
    for block in BLOCKS:
        exec(block, names)
    assert len(BLOCKS) == 3
    assert capsys.readouterr().out.startswith("(1, 0.001)-differential privacy is REFUTED.\n")
    assert names["found"].refuted is False


def test_the_table_lists_every_shape():
    assert re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE) == list(SHAPES)
