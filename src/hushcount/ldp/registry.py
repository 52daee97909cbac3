"""The protocols of the local model, in one table that manifests, decoders, the command line and tests read.

To add a protocol, write its campaign class and its decoder, and add one row here.
"""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

_ROOM = "hushcount.ldp.protocols"


class Entry(NamedTuple):
    """Where a protocol lives: its campaign class and its decoder, each as "module:object"."""

    campaign: str
    decoder: str

    @property
    def from_paper(self) -> bool:
        """Whether it follows Bassily et al. 2020 and is kept for comparison (docs/ldp-paper.md)."""
        return self.campaign.startswith(f"{_ROOM}.paper.")


def _entry(campaign: str, decoder: str) -> Entry:
    return Entry(f"{_ROOM}.{campaign}", f"{_ROOM}.{decoder}")


# By the name that stands in the manifest; the command line writes - for _.
PROTOCOLS = {
    "tree_hist": _entry("tree_hist.protocol:TreeHist", "tree_hist.search:decode"),
    "bitstogram": _entry("bitstogram.protocol:Bitstogram", "bitstogram.decode:decode"),
    "bitstogram_binary": _entry("bitstogram.protocol:BitstogramBinary", "bitstogram.decode:decode"),
    "explicit_hist": _entry("paper.oracles:ExplicitHist", "paper.medians:decode"),
    "hashtogram": _entry("paper.oracles:Hashtogram", "paper.medians:decode"),
    "succinct_hist": _entry("paper.succinct_hist:SuccinctHist", "paper.decode:decode_bits"),
    "tree_hist_paper": _entry("paper.tree_hist:TreeHistPaper", "paper.decode:decode_tree"),
    "bitstogram_paper": _entry("paper.bitstogram:BitstogramPaper", "paper.decode:decode_codewords"),
}


def names(from_paper: bool | None = None) -> tuple[str, ...]:
    """Return the names of all protocols, or of those that do, or do not, follow the paper."""
    return tuple(
        name for name, entry in PROTOCOLS.items() if from_paper is None or entry.from_paper == from_paper
    )


def name_of(campaign: type) -> str:
    """Return the name under which a campaign class is registered."""
    reference = f"{campaign.__module__}:{campaign.__qualname__}"
    return next(name for name, entry in PROTOCOLS.items() if entry.campaign == reference)


def load(reference: str) -> object:
    """Import the object that "module:object" names."""
    module, _, name = reference.partition(":")
    loaded: object = getattr(import_module(module), name)
    return loaded
