"""The protocols of the local model: one table, read by manifests, decoders, the command line and tests.

To add a protocol, write its campaign class and its decoder, and add one row here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushcount.registry import Registry

if TYPE_CHECKING:
    from hushcount.ldp.protocols.campaign import Campaign
    from hushcount.ldp.server.decoding import Decoder

_PAPER = "hushcount.ldp.protocols.paper."  # those that follow Bassily et al. 2020 (docs/ldp-paper.md)

# Name in the manifest (the command line writes - for _): campaign class and decoder.
_PROTOCOLS = {
    "tree_hist": (
        "hushcount.ldp.protocols.tree_hist.protocol:TreeHist",
        "hushcount.ldp.protocols.tree_hist.search:DECODER",
    ),
    "bitstogram": (
        "hushcount.ldp.protocols.bitstogram.protocol:Bitstogram",
        "hushcount.ldp.protocols.bitstogram.decode:DECODER",
    ),
    "bitstogram_binary": (
        "hushcount.ldp.protocols.bitstogram.protocol:BitstogramBinary",
        "hushcount.ldp.protocols.bitstogram.decode:DECODER",
    ),
    "explicit_hist": (
        "hushcount.ldp.protocols.paper.oracles:ExplicitHist",
        "hushcount.ldp.protocols.paper.medians:DECODER",
    ),
    "hashtogram": (
        "hushcount.ldp.protocols.paper.oracles:Hashtogram",
        "hushcount.ldp.protocols.paper.medians:DECODER",
    ),
    "succinct_hist": (
        "hushcount.ldp.protocols.paper.succinct_hist:SuccinctHist",
        "hushcount.ldp.protocols.paper.decode:BITS",
    ),
    "tree_hist_paper": (
        "hushcount.ldp.protocols.paper.tree_hist:TreeHistPaper",
        "hushcount.ldp.protocols.paper.decode:TREE",
    ),
    "bitstogram_paper": (
        "hushcount.ldp.protocols.paper.bitstogram:BitstogramPaper",
        "hushcount.ldp.protocols.paper.decode:CODEWORDS",
    ),
}
_PLACES = {name: place for name, (place, _) in _PROTOCOLS.items()}

CAMPAIGNS: Registry[type[Campaign]] = Registry("protocol", _PLACES)
DECODERS: Registry[Decoder] = Registry("protocol", {name: place for name, (_, place) in _PROTOCOLS.items()})
CLASSES = {place.partition(":")[2]: place for place in _PLACES.values()}  # by the name of the class


def from_paper(name: str) -> bool:
    """Return whether a protocol follows the paper closely and is kept for comparison."""
    return _PLACES[name].startswith(_PAPER)


def name_of(campaign: type) -> str:
    """Return the name under which a campaign class is registered."""
    place = f"{campaign.__module__}:{campaign.__qualname__}"
    return next(name for name, registered in _PLACES.items() if registered == place)
