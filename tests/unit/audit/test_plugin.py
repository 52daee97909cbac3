"""The pytest plugin, on the example of docs/audit.md: a sound claim passes, a false one fails."""

import re
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PLUGIN = "hushcount.audit.plugin"
EXAMPLE = re.search(r"```python\n(import pytest\n.*?)```", (ROOT / "docs/audit.md").read_text(), re.DOTALL)


@pytest.fixture
def run(pytester):
    """Run the tests of one file in a process of their own, with the plugin."""
    known = any(each.value == PLUGIN for each in entry_points(group="pytest11"))

    def pytest_of(text):
        pytester.makepyfile(text)
        return pytester.runpytest_subprocess("--strict-markers", *(() if known else ("-p", PLUGIN)))

    return pytest_of


def test_the_example_of_the_page_is_short_and_passes(run):
    text = EXAMPLE.group(1)
    assert len(text.splitlines()) <= 15
    run(text).assert_outcomes(passed=1)


def test_a_false_claim_fails_and_says_by_how_much(run):
    result = run(EXAMPLE.group(1).replace("delta=0.042", "delta=0.001"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*(0.694, 0.001)-differential privacy is REFUTED.", "delta at epsilon 0.694 is at least 0.0*"]
    )


def test_options_of_the_call_come_before_those_of_the_marker(run):
    run("""
        from fractions import Fraction
        import pytest

        def coin(counts):
            yes = Fraction(3, 4) if counts else Fraction(1, 4)
            return {"yes": yes, "no": 1 - yes}

        @pytest.mark.audit(epsilon=1.0, delta=0.0)
        def test_refuted(audit):
            audit(distribution=coin)

        @pytest.mark.audit(epsilon=1.0, delta=0.0)
        def test_kept(audit):
            assert audit(distribution=coin, epsilon=1.1).epsilon_lower < 1.1

        def test_without_a_marker(audit):
            audit(distribution=coin, epsilon=1.1, delta=0.0, pair=({"x": 1}, {}))
    """).assert_outcomes(passed=2, failed=1)


def test_the_package_registers_the_plugin():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"hushcount": PLUGIN}
