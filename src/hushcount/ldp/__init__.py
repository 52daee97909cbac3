"""The local model: every client randomises its own report, so the collector never sees an item.

Names are imported on first use, so a client does not load numpy.

>>> from hushcount import ldp
>>> ldp.Words("abc", 3).width
6
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushcount.ldp import registry

if TYPE_CHECKING:
    from hushcount.ldp.client.client import Client
    from hushcount.ldp.client.state import ClientState
    from hushcount.ldp.protocols.bitstogram.protocol import Bitstogram, BitstogramBinary
    from hushcount.ldp.protocols.paper.bitstogram import BitstogramPaper
    from hushcount.ldp.protocols.paper.medians import Frequencies, frequencies
    from hushcount.ldp.protocols.paper.oracles import ExplicitHist, Hashtogram
    from hushcount.ldp.protocols.paper.succinct_hist import SuccinctHist
    from hushcount.ldp.protocols.paper.tree_hist import TreeHistPaper
    from hushcount.ldp.protocols.tree_hist.protocol import TreeHist
    from hushcount.ldp.server.aggregator import Aggregator
    from hushcount.ldp.wire.encodings import Bytes, Categories, Integers, PackedWords, Words
    from hushcount.ldp.wire.manifest import Manifest

# Public name: where it lives. The campaign classes are those of the registry.
_NAMES = {
    "Aggregator": "hushcount.ldp.server.aggregator",
    "Bytes": "hushcount.ldp.wire.encodings",
    "Categories": "hushcount.ldp.wire.encodings",
    "Client": "hushcount.ldp.client.client",
    "ClientState": "hushcount.ldp.client.state",
    "Frequencies": "hushcount.ldp.protocols.paper.medians",
    "Integers": "hushcount.ldp.wire.encodings",
    "Manifest": "hushcount.ldp.wire.manifest",
    "PackedWords": "hushcount.ldp.wire.words",
    "Words": "hushcount.ldp.wire.words",
    "frequencies": "hushcount.ldp.protocols.paper.medians",
}
for _entry in registry.PROTOCOLS.values():
    _module, _, _class = _entry.campaign.partition(":")
    _NAMES[_class] = _module

__all__ = [
    "Aggregator",
    "Bitstogram",
    "BitstogramBinary",
    "BitstogramPaper",
    "Bytes",
    "Categories",
    "Client",
    "ClientState",
    "ExplicitHist",
    "Frequencies",
    "Hashtogram",
    "Integers",
    "Manifest",
    "PackedWords",
    "SuccinctHist",
    "TreeHist",
    "TreeHistPaper",
    "Words",
    "frequencies",
]


def __getattr__(name: str) -> object:
    if name not in _NAMES:
        raise AttributeError(f"module 'hushcount.ldp' has no attribute {name!r}")
    return registry.load(f"{_NAMES[name]}:{name}")


def __dir__() -> list[str]:
    return sorted(__all__)
