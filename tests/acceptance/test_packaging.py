"""What makes hushcount installable: lock files, licence, citation, one version everywhere."""

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
    assert f"\nversion: {PROJECT['version']}\n" in (ROOT / "CITATION.cff").read_text()


def test_licence():
    assert PROJECT["license"] == "Apache-2.0"
    assert all((ROOT / name).is_file() for name in PROJECT["license-files"])
    text = (ROOT / "LICENSE").read_text()
    assert "Version 2.0, January 2004" in text
    assert text.rstrip().endswith("limitations under the License.")
    assert "\nlicense: Apache-2.0\n" in (ROOT / "CITATION.cff").read_text()


def test_the_citation_names_every_paper():
    text = (ROOT / "CITATION.cff").read_text()
    assert "authors:\n  - name: The hushcount contributors\n" in text
    first = re.findall(r"authors:\n      - family-names: (\S+)\n", text)
    years = re.findall(r"^    year: (\d+)$", text, re.MULTILINE)
    assert list(zip(first, years, strict=True)) == [
        ("Lebeda", "2023"),
        ("Holland", "2025"),
        ("Bassily", "2020"),
        ("Biswas", "2024"),
        ("Cohen", "2021"),
    ]
