"""The protocols of the local model: one table, read by manifests, decoders, the command line and tests.

To add a protocol, write its campaign class and its decoder, and add one row here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushcount.registry import Registry

if TYPE_CHECKING:
    from hushcount.ldp.protocols.campaign import Campaign
    from hushcount.ldp.server.decoding import Decoder

_ROOM = "hushcount.ldp.protocols."
_PAPER = "paper."  # the room of the protocols that follow Bassily et al. 2020 (docs/ldp-paper.md)

# Name in the manifest (the command line writes - for _): campaign class and decoder.
_PROTOCOLS = {
    "tree_hist": ("tree_hist.protocol:TreeHist", "tree_hist.search:DECODER"),
    "bitstogram": ("bitstogram.protocol:Bitstogram", "bitstogram.decode:DECODER"),
    "bitstogram_binary": ("bitstogram.protocol:BitstogramBinary", "bitstogram.decode:DECODER"),
    "explicit_hist": ("paper.oracles:ExplicitHist", "paper.medians:DECODER"),
    "hashtogram": ("paper.oracles:Hashtogram", "paper.medians:DECODER"),
    "succinct_hist": ("paper.succinct_hist:SuccinctHist", "paper.decode:BITS"),
    "tree_hist_paper": ("paper.tree_hist:TreeHistPaper", "paper.decode:TREE"),
    "bitstogram_paper": ("paper.bitstogram:BitstogramPaper", "paper.decode:CODEWORDS"),
}
_PLACES = {name: _ROOM + place for name, (place, _) in _PROTOCOLS.items()}

CAMPAIGNS: Registry[type[Campaign]] = Registry("protocol", _PLACES)
DECODERS: Registry[Decoder] = Registry("protocol", {n: _ROOM + place for n, (_, place) in _PROTOCOLS.items()})
CLASSES = {place.partition(":")[2]: place for place in _PLACES.values()}  # by the name of the class


def from_paper(name: str) -> bool:
    """Return whether a protocol follows the paper closely and is kept for comparison."""
    return _PLACES[name].startswith(_ROOM + _PAPER)


def name_of(campaign: type) -> str:
    """Return the name under which a campaign class is registered."""
    place = f"{campaign.__module__}:{campaign.__qualname__}"
    return next(name for name, registered in _PLACES.items() if registered == place)
