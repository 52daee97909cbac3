"""What makes hushcount installable: lock files, licence, citation, one version everywhere."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

NEEDED = ("LICENSE", "CITATION.cff", "MANIFEST.in", "Makefile", "pyproject.toml", "setup.py")
PROOFS = (
    "from hushcount.jobs.trust.explain import explain, names\n"
    "print(*(explain(n).proof()[:2] for n in names()))"
)


def pinned(name):
    return dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements" / name).read_text(), re.MULTILINE))


@pytest.mark.parametrize("name", ["runtime.txt", "dev.txt", "smoke.txt", "oldest.txt"])
def test_locks(name):
    text = (ROOT / "requirements" / name).read_text()
    assert not re.search(r"https?:|file://|--(extra-)?index-url|--find-links|--trusted-host|@ ", text)
    entries = [entry for entry in re.split(r"\n(?=\S)", text.strip()) if not entry.startswith("#")]
    assert all(re.match(r"[\w.-]+==\S+", entry) and "--hash=sha256:" in entry for entry in entries)


def test_locks_agree():
    runtime, dev, smoke = pinned("runtime.txt"), pinned("dev.txt"), pinned("smoke.txt")
    assert runtime.items() <= smoke.items() <= dev.items()
    wanted = {re.split(r"[<>=]", requirement)[0] for requirement in PROJECT["dependencies"]}
    assert wanted <= set(runtime)


def test_the_oldest_dependencies_are_those_that_are_allowed():
    bounds = dict(requirement.split(">=") for requirement in PROJECT["dependencies"])
    oldest = pinned("oldest.txt")
    assert {name: re.sub(r"(\.0)+$", "", oldest[name]) for name in bounds} == {
        name: re.sub(r"(\.0)+$", "", bound) for name, bound in bounds.items()
    }
    assert "requirements/oldest.txt" in (ROOT / ".ci" / "run").read_text()


def test_supported_pythons():
    """The oldest Python runs everything, and .ci/run looks for every other one that the classifiers name."""
    named = [re.findall(r"Python :: (3\.\d+)$", line) for line in PROJECT["classifiers"]]
    first, *others = [version for found in named for version in found]
    assert first == PROJECT["requires-python"].removeprefix(">=")
    looked_for = re.findall(r"^for version in (.*); do$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert set(others) <= set(looked_for[0].split())


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


def output(folder, *command):
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of a wheel and an sdist, built without network from a copy of what they are made of."""
    checkout, built = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("dist")
    unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for folder in ("src", "docs", "examples", "requirements"):
        shutil.copytree(ROOT / folder, checkout / folder, ignore=unwanted)
    for file in [*ROOT.glob("*.md"), *(ROOT / name for name in NEEDED)]:
        shutil.copy(file, checkout)
    for step in ("build_sdist", "build_wheel"):
        output(checkout, sys.executable, "-c", f"from setuptools.build_meta import *; {step}({str(built)!r})")
    return built


def test_the_sdist_has_docs_proofs_and_changelog(built):
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "setup.py"} <= names
    assert {str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")} <= names


def test_the_wheel_has_docs_proofs_and_changelog(built):
    about = f"hushcount-{PROJECT['version']}.dist-info"
    with zipfile.ZipFile(next(built.glob("*.whl"))) as archive:
        names = set(archive.namelist())
        metadata = archive.read(f"{about}/METADATA").decode()
    pages = {f"hushcount/{page.relative_to(ROOT)}" for page in (ROOT / "docs").rglob("*.md")}
    assert pages | {"hushcount/docs/CHANGELOG.md", "hushcount/py.typed", f"{about}/licenses/LICENSE"} <= names
    assert "hushcount/service/web/index.html" in names
    assert "License-Expression: Apache-2.0" in metadata
    assert {name.split("/")[0] for name in names} == {"hushcount", about}


def test_the_wheel_works_in_an_empty_environment(built, tmp_path):
    """Only the wheel is installed; the locked dependencies are read from where they are."""
    import numpy

    output(tmp_path, sys.executable, "-m", "venv", "environment")
    python, program = tmp_path / "environment/bin/python", tmp_path / "environment/bin/hushcount"
    output(tmp_path, python, "-m", "pip", "install", "--no-index", "--no-deps", next(built.glob("*.whl")))
    site = output(tmp_path, python, "-c", "import site; print(site.getsitepackages()[0])").strip()
    (Path(site) / "locked.pth").write_text(f"{Path(numpy.__file__).parents[1]}\n")
    (tmp_path / "keys.txt").write_text("tea\n" * 1000 + "".join(f"key {each}\n" for each in range(9)))

    assert output(tmp_path, python, "-c", "import hushcount; print(hushcount.__file__)").startswith(site)
    assert "Commands:" in output(tmp_path, program, "--help")
    options = ["--format", "lines", "--epsilon", "1", "--delta", "1e-8"]
    table = output(tmp_path, program, "top", "keys.txt", *options, "--report", "top.html")
    assert [line.split("\t")[0] for line in table.splitlines()] == ["key", "tea"]
    assert "@media print" in (tmp_path / "top.html").read_text()
    assert output(tmp_path, program, "explain", "floor").startswith("Claim: ")
    assert set(output(tmp_path, python, "-c", PROOFS).split()) == {"#"}
