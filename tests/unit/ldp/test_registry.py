"""The one table of protocols: every row loads, and everything that lists protocols reads it."""

from pathlib import Path

import pytest

from hushcount import ldp
from hushcount.cli.main import main
from hushcount.ldp import registry
from hushcount.ldp.protocols.campaign import Campaign
from hushcount.ldp.server.decoding import Decoder
from hushcount.ldp.wire.manifest import Manifest

WIRE = Path(__file__).parents[3] / "docs" / "ldp-wire.md"


@pytest.mark.parametrize("name", registry.CAMPAIGNS)
def test_every_row_loads(name):
    made = registry.CAMPAIGNS[name]
    assert issubclass(made, Campaign)
    assert made.protocol_name() == name
    assert getattr(ldp, made.__name__) is made
    assert made.__name__ in ldp.__all__
    assert isinstance(registry.DECODERS[name], Decoder)


@pytest.mark.parametrize("name", registry.CAMPAIGNS)
def test_a_campaign_carries_its_name(name):
    made = registry.CAMPAIGNS[name](ldp.Integers(8), epsilon=1.0, users=1000)
    assert Manifest.parse(made.manifest.to_json()).protocol == name
    assert (made.plan is None) == registry.from_paper(name)


def test_help_lists_every_protocol(capfd):
    assert main(["ldp", "new", "--help"]) == 0
    text = "".join(capfd.readouterr().out.split())  # wrapped at hyphens
    assert all(name.replace("_", "-") in text for name in registry.CAMPAIGNS)


def test_the_wire_format_lists_every_protocol():
    listed = ", ".join(f"`{name}`" for name in registry.CAMPAIGNS)
    assert listed in WIRE.read_text()
