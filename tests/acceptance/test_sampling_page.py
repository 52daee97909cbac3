"""The examples of the pages on samples and estimators run, one after the other."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS, ESTIMATORS = (
    re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    for page in ("sampling.md", "estimators.md")
)


def test_every_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in BLOCKS:
        exec(compile(block, "docs/sampling.md", "exec"), names)
    assert len(BLOCKS) >= 4
    printed = capsys.readouterr().out
    assert printed.startswith("8000.0\n")
    assert "the sample is sanitised once" in printed
    assert (tmp_path / "monday.hc").stat().st_mode & 0o777 == 0o600


def test_the_order_of_keys_as_the_page_shows_it(capsys):
    assert len(ESTIMATORS) == 1
    exec(compile(ESTIMATORS[0], "docs/estimators.md", "exec"), {})
    assert "rank_lower" in capsys.readouterr().out
