"""The protocols of the local model: one table, read by manifests, decoders, the command line and tests.

To add a protocol, write its campaign class and its decoder, and add one row here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushcount.registry import Registry

if TYPE_CHECKING:
    from hushcount.ldp.protocols.campaign import Campaign
    from hushcount.ldp.server.decoding import Decoder

_PAPER = "protocols.paper."  # those that follow Bassily et al. 2020 (docs/ldp-paper.md)
# Name in the manifest (the command line writes - for _): campaign class and decoder, inside hushcount.ldp.
_PROTOCOLS = {
    "tree_hist": ("protocols.tree_hist.protocol:TreeHist", "protocols.tree_hist.search:DECODER"),
    "bitstogram": ("protocols.bitstogram.protocol:Bitstogram", "protocols.bitstogram.decode:DECODER"),
    "bitstogram_binary": (
        "protocols.bitstogram.protocol:BitstogramBinary",
        "protocols.bitstogram.decode:DECODER",
    ),
    "explicit_hist": ("protocols.paper.campaign:ExplicitHist", "protocols.paper.medians:DECODER"),
    "hashtogram": ("protocols.paper.campaign:Hashtogram", "protocols.paper.medians:DECODER"),
    "succinct_hist": ("protocols.paper.searches:SuccinctHist", "protocols.paper.decode:BITS"),
    "tree_hist_paper": ("protocols.paper.searches:TreeHistPaper", "protocols.paper.decode:TREE"),
    "bitstogram_paper": ("protocols.paper.searches:BitstogramPaper", "protocols.paper.decode:CODEWORDS"),
}
_PLACES = {name: f"hushcount.ldp.{place}" for name, (place, _) in _PROTOCOLS.items()}
_DECODERS = {name: f"hushcount.ldp.{place}" for name, (_, place) in _PROTOCOLS.items()}

CAMPAIGNS: Registry[type[Campaign]] = Registry("protocol", _PLACES)
DECODERS: Registry[Decoder] = Registry("protocol", _DECODERS)
CLASSES = {place.partition(":")[2]: place for place in _PLACES.values()}  # by the name of the class


def from_paper(name: str) -> bool:
    """Return whether a protocol follows the paper closely and is kept for comparison."""
    return _PROTOCOLS[name][0].startswith(_PAPER)


def name_of(campaign: type) -> str:
    """Return the name under which a campaign class is registered."""
    place = f"{campaign.__module__}:{campaign.__qualname__}"
    return next(name for name, registered in _PLACES.items() if registered == place)
