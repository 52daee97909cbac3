"""What a nonce is asked, and what the truthful answer is: all public but the item. Pure Python."""

from __future__ import annotations

from typing import NamedTuple

from hushcount.ldp.manifest import Manifest
from hushcount.ldp.public_randomness import pick
from hushcount.ldp.questions import Place


class Asked(NamedTuple):
    """One group's question to one nonce."""

    question: int  # its number in the group
    row: int
    masks: tuple[int, ...]
    extra: int


def asked(manifest: Manifest, nonce: bytes, number: int) -> Asked:
    """What group `number` of the manifest asks the nonce."""
    group = manifest.groups[number]
    words = manifest.public.words(nonce, number)
    place = pick(words[0], group.cumulative)
    question = group.questions[place]
    low = (1 << question.cell_bits) - 1
    masks = tuple([word & low for word in words[2 : 2 + group.symbol_bits]])
    return Asked(place, words[1] * question.rows >> 32, masks, words[7])


def truthful(manifest: Manifest, value: int, number: int, ask: Asked) -> int:
    """The truthful symbol of an encoded item: the parities of its cell with the masks, the first lowest."""
    question = manifest.groups[number].questions[ask.question]
    place = Place(manifest.public, manifest.encoding.width, number, ask.question, ask.row, ask.extra)
    cell, symbol = question.cell(value, place)
    for bit, mask in enumerate(ask.masks):
        symbol ^= ((mask & cell).bit_count() & 1) << bit
    return symbol
