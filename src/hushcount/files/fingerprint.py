"""What a source is, in a few digests, so that the same data are recognised wherever they lie.

A fingerprint is text: a version, a digest of the question (format, columns, query, filter, window), a digest
of the modification times, and one digest per file of its size and of samples of its content. It holds no
path, device or inode. A checkpoint continues only with an equal fingerprint; sketches with equal files and an
equal question hold the same events twice and are not released together.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from io import RawIOBase
from itertools import product

from hushcount.errors import DataError

VERSION = "2"
# A file is read whole up to this size; of a larger one the two ends and evenly spaced samples are read.
WHOLE = 1 << 17
SAMPLE = 1 << 13
SAMPLES = 16
ASSUMED_APART = "Assumed: no event is in two of the sketches."
ASSUMED_DISJOINT = (
    "Assumed: no event is in two of the sketches, although they were made from the same files"
    " by different queries."
)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The digests of a source; equal text means equal data and an equal question."""

    files: tuple[str, ...]
    question: str
    times: str = ""

    @classmethod
    def of(cls, files: Sequence[tuple[str, int]], question: object) -> Fingerprint:
        """Return the fingerprint of files, as (`content_digest`, modification time), under a question."""
        times = digest([time for _, time in files])
        return cls(tuple(content for content, _ in files), digest(question), times)

    def __str__(self) -> str:
        return " ".join((VERSION, self.question, self.times, *self.files))

    @classmethod
    def parse(cls, text: str) -> Fingerprint | None:
        """Return the fingerprint that a file holds, None if it has none or one of an earlier version."""
        version, *parts = text.split(" ")
        return cls(tuple(parts[2:]), parts[0], parts[1]) if version == VERSION and len(parts) > 1 else None

    def repeats(self, other: Fingerprint) -> bool:
        """Return whether both ask the same question of the same files, or of some of them."""
        return self.question == other.question and (self.files == other.files or self.shares_files(other))

    def shares_files(self, other: Fingerprint) -> bool:
        """Return whether a file belongs to both sources."""
        return not set(self.files).isdisjoint(other.files)


def narrowed(text: str, condition: object) -> str:
    """Return the fingerprint of what a condition leaves of a source; empty if the source has none."""
    whole = Fingerprint.parse(text)
    return str(replace(whole, question=digest([whole.question, condition]))) if whole is not None else ""


def content_digest(path: str) -> str:
    """Return a digest of the size of a file and of samples of its content."""
    with open(path, "rb", buffering=0) as stream:
        return sampled(stream, os.fstat(stream.fileno()).st_size)


def sampled(stream: RawIOBase, size: int) -> str:
    """Return a digest of the first `size` bytes: of their number and of samples, taken front to back."""
    state = hashlib.blake2b(size.to_bytes(8, "little"), digest_size=16)
    for start, length in _samples(size):
        stream.seek(start)
        state.update(stream.read(length) or b"")
    return state.hexdigest()


def _samples(size: int) -> Iterable[tuple[int, int]]:
    """Return start and length of the samples, the two ends among them."""
    if size <= WHOLE:
        return [(0, size)]
    last = size - SAMPLE
    return [(last * index // (SAMPLES - 1), SAMPLE) for index in range(SAMPLES)]


def digest(content: object) -> str:
    """Return a short digest of plain values."""
    text = json.dumps(content, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def check_disjoint(sources: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Raise if two sketches hold the same events; return what must be assumed of the others.

    Parameters
    ----------
    sources
        The name of each sketch, and a text with a line for each part that it was merged from: the fingerprint
        of its data, or the id of a sketch.

    Returns
    -------
    A sentence for the assumptions of the release, if there is more than one sketch.

    Raises
    ------
    DataError
        If two sketches are of the same files and the same question, so that events would count twice.
    """
    shared = False
    for place, (name, text) in enumerate(sources):
        for earlier, before in sources[:place]:
            pairs = list(product(_parsed(text), _parsed(before)))
            same_sketch = not set(text.split("\n")).isdisjoint(filter(None, before.split("\n")))
            if same_sketch or any(one.repeats(other) for one, other in pairs):
                raise DataError(
                    f"{name} and {earlier} are sketches of the same data, so their events would count twice;"
                    " take only one of them."
                )
            shared = shared or any(one.shares_files(other) for one, other in pairs)
    return (ASSUMED_DISJOINT if shared else ASSUMED_APART,) if len(sources) > 1 else ()


def _parsed(text: str) -> list[Fingerprint]:
    """Return the fingerprints among the lines of a text."""
    return [found for line in text.split("\n") if (found := Fingerprint.parse(line)) is not None]
