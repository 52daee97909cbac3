"""The local model: every client randomises its own report, so the collector never sees an item.

Names are imported on first use, so a client does not load numpy.

>>> from hushcount import ldp
>>> ldp.Words("abc", 3).width
6
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushcount.ldp.registry import CLASSES
from hushcount.registry import Registry

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

_NAMES: Registry[object] = Registry(
    "name",
    {
        "Aggregator": "hushcount.ldp.server.aggregator:Aggregator",
        "Bytes": "hushcount.ldp.wire.encodings:Bytes",
        "Categories": "hushcount.ldp.wire.encodings:Categories",
        "Client": "hushcount.ldp.client.client:Client",
        "ClientState": "hushcount.ldp.client.state:ClientState",
        "Frequencies": "hushcount.ldp.protocols.paper.medians:Frequencies",
        "Integers": "hushcount.ldp.wire.encodings:Integers",
        "Manifest": "hushcount.ldp.wire.manifest:Manifest",
        "PackedWords": "hushcount.ldp.wire.words:PackedWords",
        "Words": "hushcount.ldp.wire.words:Words",
        "frequencies": "hushcount.ldp.protocols.paper.medians:frequencies",
        **CLASSES,
    },
)

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
    return _NAMES[name]


def __dir__() -> list[str]:
    return sorted(__all__)
