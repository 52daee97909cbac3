"""Every table of names is a registry whose entries can be loaded and name themselves as the table does."""

import pytest

import hushcount as hc
from hushcount.cli.main import COMMANDS
from hushcount.errors import ParameterError
from hushcount.ldp.registry import CAMPAIGNS, DECODERS
from hushcount.mechanisms.registry import EVERY_MECHANISM, MECHANISMS
from hushcount.registry import Registry
from hushcount.releases.writers import WRITERS
from hushcount.sketches.kinds import KINDS

TABLES = {
    "names": hc._NAMES,
    "commands": COMMANDS,
    "mechanisms": EVERY_MECHANISM,
    "protocols": CAMPAIGNS,
    "decoders": DECODERS,
    "sketches": KINDS,
    "writers": WRITERS,
}


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
