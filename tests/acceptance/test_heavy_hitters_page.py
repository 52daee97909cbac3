"""The examples of docs/heavy-hitters.md run as they are printed."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "heavy-hitters.md"


def test_the_examples_run():
    test = doctest.DocTestParser().get_doctest(PAGE.read_text(), {}, PAGE.name, str(PAGE), 0)
    assert len(test.examples) >= 15
    said: list[str] = []
    assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, "".join(said)
