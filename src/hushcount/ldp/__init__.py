"""The local model: every client randomises its own report; the collector never sees an item.

Names are looked up on first use: a client loads no numpy.

>>> from hushcount import ldp
>>> ldp.Words("abc", 3).width
6
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hushcount.ldp.aggregator import Aggregator
    from hushcount.ldp.bitstogram import Bitstogram
    from hushcount.ldp.bitstogram_binary import BitstogramBinary
    from hushcount.ldp.bitstogram_paper import BitstogramPaper
    from hushcount.ldp.client import Client
    from hushcount.ldp.client_state import ClientState
    from hushcount.ldp.encodings import Bytes, Categories, Integers, PackedWords, Words
    from hushcount.ldp.explicit_hist import ExplicitHist
    from hushcount.ldp.hashtogram import Hashtogram
    from hushcount.ldp.manifest import Manifest
    from hushcount.ldp.paper_oracle import Frequencies, frequencies
    from hushcount.ldp.succinct_hist import SuccinctHist
    from hushcount.ldp.tree_hist import TreeHist
    from hushcount.ldp.tree_hist_paper import TreeHistPaper

# Public name: where it lives.
_NAMES = {
    "Aggregator": "hushcount.ldp.aggregator",
    "Bitstogram": "hushcount.ldp.bitstogram",
    "BitstogramBinary": "hushcount.ldp.bitstogram_binary",
    "BitstogramPaper": "hushcount.ldp.bitstogram_paper",
    "Bytes": "hushcount.ldp.encodings",
    "Categories": "hushcount.ldp.encodings",
    "Client": "hushcount.ldp.client",
    "ClientState": "hushcount.ldp.client_state",
    "ExplicitHist": "hushcount.ldp.explicit_hist",
    "Frequencies": "hushcount.ldp.paper_oracle",
    "Hashtogram": "hushcount.ldp.hashtogram",
    "Integers": "hushcount.ldp.encodings",
    "Manifest": "hushcount.ldp.manifest",
    "PackedWords": "hushcount.ldp.encodings",
    "SuccinctHist": "hushcount.ldp.succinct_hist",
    "TreeHist": "hushcount.ldp.tree_hist",
    "TreeHistPaper": "hushcount.ldp.tree_hist_paper",
    "Words": "hushcount.ldp.encodings",
    "frequencies": "hushcount.ldp.paper_oracle",
}

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


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'hushcount.ldp' has no attribute {name!r}")
    return getattr(import_module(_NAMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
