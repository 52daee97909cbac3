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
    from hushcount.ldp.client.client import Client as Client
    from hushcount.ldp.client.connection import connect as connect
    from hushcount.ldp.client.state import ClientState as ClientState
    from hushcount.ldp.protocols.bitstogram.protocol import Bitstogram as Bitstogram
    from hushcount.ldp.protocols.bitstogram.protocol import BitstogramBinary as BitstogramBinary
    from hushcount.ldp.protocols.paper.campaign import ExplicitHist as ExplicitHist
    from hushcount.ldp.protocols.paper.campaign import Hashtogram as Hashtogram
    from hushcount.ldp.protocols.paper.searches import BitstogramPaper as BitstogramPaper
    from hushcount.ldp.protocols.paper.searches import SuccinctHist as SuccinctHist
    from hushcount.ldp.protocols.paper.searches import TreeHistPaper as TreeHistPaper
    from hushcount.ldp.protocols.shuffling import central_epsilon as central_epsilon
    from hushcount.ldp.protocols.shuffling import shuffled_divergence as shuffled_divergence
    from hushcount.ldp.protocols.tree_hist.protocol import TreeHist as TreeHist
    from hushcount.ldp.server.aggregator import Aggregator as Aggregator
    from hushcount.ldp.server.decoding import Frequencies as Frequencies
    from hushcount.ldp.server.queries import frequencies as frequencies
    from hushcount.ldp.wire.encodings import Bytes as Bytes
    from hushcount.ldp.wire.encodings import Categories as Categories
    from hushcount.ldp.wire.encodings import Integers as Integers
    from hushcount.ldp.wire.encodings import PackedWords as PackedWords
    from hushcount.ldp.wire.encodings import Words as Words
    from hushcount.ldp.wire.manifest import Manifest as Manifest
    from hushcount.ldp.wire.terms import Terms as Terms

_NAMES: Registry[object] = Registry(
    "name",
    {
        "Aggregator": "hushcount.ldp.server.aggregator:Aggregator",
        "Bytes": "hushcount.ldp.wire.encodings:Bytes",
        "Categories": "hushcount.ldp.wire.encodings:Categories",
        "Client": "hushcount.ldp.client.client:Client",
        "ClientState": "hushcount.ldp.client.state:ClientState",
        "connect": "hushcount.ldp.client.connection:connect",
        "Frequencies": "hushcount.ldp.server.decoding:Frequencies",
        "Integers": "hushcount.ldp.wire.encodings:Integers",
        "Manifest": "hushcount.ldp.wire.manifest:Manifest",
        "Terms": "hushcount.ldp.wire.terms:Terms",
        "PackedWords": "hushcount.ldp.wire.encodings:PackedWords",
        "Words": "hushcount.ldp.wire.encodings:Words",
        "central_epsilon": "hushcount.ldp.protocols.shuffling:central_epsilon",
        "shuffled_divergence": "hushcount.ldp.protocols.shuffling:shuffled_divergence",
        "frequencies": "hushcount.ldp.server.queries:frequencies",
        **CLASSES,
    },
)

__all__ = list(_NAMES)


def __getattr__(name: str) -> object:
    if name not in _NAMES:
        raise AttributeError(f"module 'hushcount.ldp' has no attribute {name!r}")
    return _NAMES[name]


def __dir__() -> list[str]:
    return sorted(__all__)
