"""What a protocol's decoder gets and gives, and where to find it by the name of the protocol."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hushcount.errors import ManifestError, ParameterError
from hushcount.ldp.campaign import THRESHOLD
from hushcount.ldp.manifest import LARGEST_INTEGER, Manifest
from hushcount.ldp.tallies import QuestionTallies

Floats = npt.NDArray[np.float64]

# Protocol of the manifest: module and function of its decoder.
DECODERS = {
    "tree_hist": ("hushcount.ldp.tree_search", "decode"),
    "bitstogram": ("hushcount.ldp.bitstogram_decoder", "decode"),
    "bitstogram_binary": ("hushcount.ldp.bitstogram_decoder", "decode"),
    "explicit_hist": ("hushcount.ldp.paper_oracle", "decode"),
    "hashtogram": ("hushcount.ldp.paper_oracle", "decode"),
    "succinct_hist": ("hushcount.ldp.paper_buckets", "decode_bits"),
    "tree_hist_paper": ("hushcount.ldp.paper_tree", "decode"),
    "bitstogram_paper": ("hushcount.ldp.paper_buckets", "decode_codewords"),
}


@dataclass(frozen=True, slots=True)
class Collected:
    """All that was reported in a campaign: the tallies of every question of every group."""

    manifest: Manifest
    reports: int
    groups: tuple[tuple[QuestionTallies, ...], ...]


class ErrorOfCounts(Protocol):
    """The law of an estimate's error, as a function of the count alone."""

    def deviation(self, counts: Floats) -> Floats:
        """The standard deviation of the estimate of each count."""
        ...

    def sentences(self) -> tuple[str, ...]:
        """What it is made of, in words."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """Heavy items: encoded, with estimates, their error and the threshold they were accepted at."""

    values: Sequence[int]
    estimates: Floats
    error: ErrorOfCounts
    threshold: float
    notes: tuple[str, ...] = ()


class Decoder(Protocol):
    """Finds the heavy items of a campaign; `threshold` is a count, or None for the manifest's."""

    def __call__(self, collected: Collected, threshold: float | None) -> Found:
        """Return the items whose estimated count reaches the threshold."""
        ...


def decoder_of(protocol: str) -> Decoder:
    """The decoder of a protocol."""
    module, name = DECODERS[protocol]
    decoder: Decoder = getattr(import_module(module), name)
    return decoder


def check_threshold(threshold: float | None) -> float | None:
    """Return a threshold above 0, or None, or raise."""
    if threshold is None:
        return None
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 < threshold < math.inf:
        raise ParameterError(f"threshold must be a finite number above 0, got {threshold!r}.")
    return float(min(threshold, LARGEST_INTEGER))  # no campaign has more users


def limit_of(collected: Collected, threshold: float | None) -> float:
    """The threshold asked for, or that of the manifest."""
    if threshold is not None:
        return threshold
    named = collected.manifest.parameters.get(THRESHOLD)
    if not isinstance(named, int) or named < 1:
        raise ManifestError("the parameters of the manifest must have a threshold of at least 1.")
    return float(named)
