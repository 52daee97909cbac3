"""The lock files: everything pinned with hashes, nothing that names a place."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pinned(name):
    return dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements" / name).read_text(), re.MULTILINE))


@pytest.mark.parametrize("name", ["runtime.txt", "dev.txt"])
def test_locks(name):
    text = (ROOT / "requirements" / name).read_text()
    assert not re.search(r"https?:|file://|--(extra-)?index-url|--find-links|--trusted-host|@ ", text)
    entries = [entry for entry in re.split(r"\n(?=\S)", text.strip()) if not entry.startswith("#")]
    assert all(re.match(r"[\w.-]+==\S+", entry) and "--hash=sha256:" in entry for entry in entries)


def test_locks_agree():
    runtime, dev = pinned("runtime.txt"), pinned("dev.txt")
    assert runtime.items() <= dev.items()
    wanted = {re.split(r"[<>=]", requirement)[0] for requirement in PROJECT["dependencies"]}
    assert wanted <= set(runtime)


def test_version():
    import hushcount

    assert hushcount.__version__ == PROJECT["version"]
    assert f"## {PROJECT['version']} " in (ROOT / "CHANGELOG.md").read_text()
