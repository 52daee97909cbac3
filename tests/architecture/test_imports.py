"""What is imported when: the package and the help of the program stay light."""

import subprocess
import sys

import pytest

HEAVY = ("numpy", "pyarrow", "numba", "duckdb", "scipy", "pandas", "polars", "rich")


def loaded(program, *arguments):
    """The heavy libraries that a fresh interpreter has loaded after a program."""
    check = f"\nimport sys\nprint('loaded:', [name for name in {HEAVY} if name in sys.modules])"
    command = [sys.executable, "-c", program + check, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    "program",
    [
        "import hushcount",
        "import hushcount as hc; dir(hc); hc.__version__; hc.errors; hc.release; hc.Release",
        "import hushcount as hc; hc.Budget(1.0, 1e-8)",
        "import hushcount as hc; dir(hc.ldp); hc.ldp.Client; hc.ldp.Words('ab', 3); hc.ldp.Manifest.parse",
        "from hushcount import ldp; ldp.BitstogramPaper(ldp.Integers(8), epsilon=1, users=9).client(7)",
        "from hushcount import ldp; ldp.TreeHistPaper(ldp.Integers(8), epsilon=1, users=9).client(7)",
        "from hushcount.ldp import ExplicitHist, Hashtogram, SuccinctHist",
        "from hushcount.cli import main; main(['--help'])",
        "from hushcount.cli import main; main(['top', '--help'])",
        "from hushcount.cli import main; main(['--version'])",
    ],
)
def test_light(program):
    assert loaded(program) == "loaded: []"


def test_the_check_can_fail():
    assert loaded("import numpy") == "loaded: ['numpy']"


def test_public_names():
    import hushcount as hc

    assert all(hasattr(hc, name) for name in hc.__all__)
    assert dir(hc) == sorted(hc.__all__)
    assert set(hc._NAMES) <= set(hc.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = hc.nothing


def test_release_is_the_function_whatever_was_imported_first():
    program = "from hushcount.releases import release\nimport hushcount as hc\nassert callable(hc.release)"
    assert loaded(program).startswith("loaded:")


def test_a_plain_table_loads_neither_pandas_nor_linear_algebra(tmp_path):
    """pyarrow would load pandas; a few rows need no kernel, so neither numba nor what numba loads."""
    (tmp_path / "keys.txt").write_text("tea\n" * 10)
    command = [sys.executable, "-X", "importtime", "-m", "hushcount", "top", str(tmp_path / "keys.txt")]
    command += ["--epsilon", "1", "--delta", "1e-6"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    names = {line.split("|")[-1].strip() for line in done.stderr.splitlines() if "import time:" in line}
    assert {"numpy", "pyarrow.lib"} <= names, "the check sees what is loaded"
    assert not names & {
        "numba",
        "pandas.core",
        "scipy.linalg",
        "scipy.special",
        "cffi",
        "numba.np.arraymath",
        "duckdb",
    }


def test_kernels_load_no_linear_algebra(tmp_path):
    """numba's own way to a cached kernel would load scipy.linalg and cffi."""
    (tmp_path / "keys.txt").write_text("tea\n" * 5000)
    command = [sys.executable, "-X", "importtime", "-m", "hushcount", "top", str(tmp_path / "keys.txt")]
    command += ["--epsilon", "1", "--delta", "1e-6"]
    for _ in range(2):  # the first run may compile kernels
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    names = {line.split("|")[-1].strip() for line in done.stderr.splitlines() if "import time:" in line}
    assert "numba" in names
    assert not names & {"pandas.core", "scipy.linalg", "scipy.special", "cffi", "numba.np.arraymath"}
