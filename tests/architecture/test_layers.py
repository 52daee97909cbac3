"""A room imports only what docs/architecture.md allows; imports for types and inside functions count too."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "hushcount"
VOCABULARY = {"errors", "privacy", "secure", "signals", "registry", "compiled"}
TOOLS = {"noise", "files", "keys", "hierarchies", "shapes", "stores", "accounting"}
DATA = {"sources", "sketches", "releases", "mechanisms", "ldp"}
# Room: the rooms it may import besides the vocabulary and itself.
MAY_IMPORT = {
    "noise": set(),
    "files": set(),
    "keys": {"files"},
    "hierarchies": {"files", "keys"},
    "shapes": {"keys", "hierarchies"},
    "stores": {"files"},
    "accounting": {"files", "stores"},
    "sources": {"files", "keys", "stores"},
    "sketches": {"files", "keys", "hierarchies", "shapes"},
    "releases": {"files", "keys", "stores"},
    "mechanisms": {"noise", "keys", "hierarchies", "shapes", "accounting", "releases"},
    "ldp": {"noise", "files", "accounting", "releases"},
    "audit": {"noise", "accounting", "sketches", "shapes", "mechanisms", "ldp"},
    "jobs": TOOLS | DATA,
    "service": {"ldp", "accounting", "releases", "files", "stores"},
    "cli": {"jobs", "audit", "service", "releases"},
    # The package forwards its public names; `engines` forwards to the jobs that run elsewhere.
    "package": TOOLS | DATA | {"audit", "jobs", "engines", "testing"},
    "engines": {"jobs"},
    # Seeded noise for the tests of others.
    "testing": set(),
}


def room(module):
    """The room of a module such as hushcount.sources.formats.files."""
    parts = module.split(".")
    if len(parts) == 1:
        return "package"
    return "cli" if parts[1] == "__main__" else parts[1]


def imports(tree):
    """The modules of this package that a file imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "hushcount")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            if node.module == "hushcount":
                known = {path.stem for path in SOURCE.iterdir()}
                yield from (
                    f"hushcount.{alias.name}" if alias.name in known else "hushcount" for alias in node.names
                )
            elif node.module.startswith("hushcount."):
                yield node.module
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "late":
            yield node.args[0].value  # kernels that are imported when they are first used


def offences(text, path):
    """The imports of a file, by its path inside the package, that its room may not make."""
    own = (
        "package"
        if path == "__init__.py"
        else room("hushcount." + path.removesuffix(".py").replace("/", "."))
    )
    allowed = VOCABULARY | {own} | (MAY_IMPORT.get(own) or set())
    if own == "cli":
        allowed |= {"package"}  # the version
    made = imports(ast.parse(text))
    return [name for name in made if room(name) not in allowed]


@pytest.mark.parametrize("path", sorted(str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py")))
def test_imports(path):
    assert offences((SOURCE / path).read_text(), path) == []


def test_every_folder_and_file_is_a_room():
    folders = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    names = folders | {path.stem for path in SOURCE.glob("*.py")}
    assert names <= VOCABULARY | set(MAY_IMPORT) | {"__init__", "__main__"}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("sketches/linear.py", "from hushcount.mechanisms.base import Claim"),
        ("sketches/base.py", "from hushcount.sources.open import open_source"),
        ("sketches/held.py", "from hushcount.noise.bits import Bits"),
        ("mechanisms/counters/floor.py", "import hushcount.sources.formats.files"),
        ("mechanisms/counters/floor.py", "from hushcount.sketches.exact import Exact"),
        ("mechanisms/counters/floor.py", "def f():\n    from hushcount.sources import open"),
        ("releases/views/plots.py", "from hushcount.sketches.exact import Exact"),
        ("releases/views/plots.py", "if TYPE_CHECKING:\n    from hushcount.sources.source import Source"),
        ("privacy.py", "from hushcount import jobs"),
        ("keys/text.py", 'kernels = late("hushcount.sketches._kernels.update")'),
        ("ldp/wire/report.py", "from hushcount.sketches.kinds import load"),
        ("jobs/top.py", "from hushcount.cli import main"),
        ("jobs/top.py", "from hushcount import top"),
        ("sources/formats/files.py", "import hushcount as hc"),
        ("cli/publish/top.py", "from hushcount.mechanisms.registry import MECHANISMS"),
    ],
)
def test_every_way_round_is_seen(path, text):
    assert offences(text, path)


def test_what_is_allowed_is_allowed():
    assert offences("from hushcount.jobs.top import top", "cli/publish/top.py") == []
    assert offences("from hushcount.keys.columns import KeyColumns", "jobs/checkpoints.py") == []
    assert offences("from hushcount.errors import DataError", "noise/bits.py") == []
