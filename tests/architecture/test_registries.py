"""Every table of names is a registry whose entries can be loaded and name themselves as the table does."""

import ast
from pathlib import Path

import pytest

import hushcount as hc
from hushcount.cli.main import COMMANDS
from hushcount.errors import ParameterError
from hushcount.hierarchies.registry import HIERARCHIES
from hushcount.jobs import choices
from hushcount.ldp.registry import CAMPAIGNS, DECODERS
from hushcount.mechanisms.registry import EVERY_MECHANISM, MECHANISMS
from hushcount.registry import Registry
from hushcount.releases.stored.models import MODELS
from hushcount.releases.writers import WRITERS
from hushcount.sketches.kinds import KINDS
from hushcount.sources.formats.registry import FORMATS

TABLES = {
    "names": hc._NAMES,
    "commands": COMMANDS,
    "mechanisms": EVERY_MECHANISM,
    "protocols": CAMPAIGNS,
    "decoders": DECODERS,
    "sketches": KINDS,
    "hierarchies": HIERARCHIES,
    "writers": WRITERS,
    "error models": MODELS,
    "formats": FORMATS,
}
SOURCE = Path(hc.__file__).parent


@pytest.mark.parametrize("table", TABLES)
def test_every_entry_loads(table):
    registry = TABLES[table]
    assert isinstance(registry, Registry)
    assert len(dict(registry.items())) == len(registry) > 0


def test_mechanisms_and_commands_bear_the_names_of_their_tables():
    assert all(mechanism.name == name for name, mechanism in MECHANISMS.items())
    assert all(command.name == name for name, command in COMMANDS.items())


def test_an_unknown_name_is_refused_with_the_list():
    with pytest.raises(ParameterError) as refused:
        _ = COMMANDS["nothing"]
    assert str(refused.value) == f"command must be one of {', '.join(COMMANDS)}, got nothing."


def literals(path):
    """The texts in each tuple, list or set of a module."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            yield {each.value for each in node.elts if isinstance(each, ast.Constant)}


@pytest.mark.parametrize("table", ["mechanisms", "protocols", "sketches", "writers", "formats"])
def test_the_command_line_lists_no_entry_itself(table):
    names = set(TABLES[table])
    listed = [
        path.name for path in SOURCE.glob("cli/**/*.py") for each in literals(path) if len(each & names) > 1
    ]
    assert listed == []


def test_choices_are_entries_of_their_tables():
    from hushcount.keys.plain import ON_BAD
    from hushcount.mechanisms.sampling.sized import SCHEMES

    assert choices.FORMATS is FORMATS
    assert set(choices.KINDS) | set(choices.CELLS) <= set(KINDS)
    assert tuple(SCHEMES) == choices.SCHEMES
    assert choices.ON_BAD == ON_BAD
