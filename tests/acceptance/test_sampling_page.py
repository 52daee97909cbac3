"""The examples of the page on samples run, one after the other."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "sampling.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


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
