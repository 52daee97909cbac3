"""Record and replay: neighbours are released with the same randomness, and all but the noise must be alike.

Every scale of noise, every number that is stated as public, and every branch taken before the first random
byte must be a function of public values. The number of draws is not compared: one key more is one draw more.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Generic, TypeVar

import numpy as np

from hushcount.compiled.arrays import Words
from hushcount.noise.bits import Bits, system_bits

PACKAGE = Path(__file__).parents[1]
MECHANISMS = PACKAGE / "mechanisms"
NOISE = str(PACKAGE / "noise")
SCALES = ("epsilon", "sigma", "scale", "rate")  # arguments of samplers that scale their noise

Stated = TypeVar("Stated")
Tracer = Callable[[FrameType, str, object], object]


class RecordedBits:
    """Random bytes that are kept, so that they can be drawn again in the same order."""

    def __init__(self, kept: bytes = b"") -> None:
        self.kept = kept
        self.place = 0

    def bytes(self, count: int) -> bytes:
        """Return the next bytes: those kept, then new ones.

        Parameters
        ----------
        count : int
            How many.
        """
        missing = self.place + count - len(self.kept)
        if missing > 0:
            self.kept += system_bits().bytes(missing)
        self.place += count
        return self.kept[self.place - count : self.place]

    def words(self, count: int) -> Words:
        """Return the next 64-bit words.

        Parameters
        ----------
        count : int
            How many.
        """
        return np.frombuffer(self.bytes(8 * count), dtype=np.uint64)


@dataclass
class _Watch(Generic[Stated]):
    """What one release does: the scales of its noise, and the lines it runs before it draws."""

    bits: RecordedBits
    where: str
    scales: set[str] = field(default_factory=set)
    lines: set[str] = field(default_factory=set)

    def release(self, release: Callable[[Bits], Stated]) -> Stated:
        """Run a release and note what it does."""
        before = sys.gettrace()
        sys.settrace(self._called)  # type: ignore[arg-type]
        try:
            return release(self.bits)
        finally:
            sys.settrace(before)

    def _called(self, frame: FrameType, event: str, value: object) -> Tracer | None:
        """Note the scales of a call, and return the tracer of its lines."""
        name = frame.f_code.co_filename
        if frame.f_code.co_name == "sample":
            self.scales.add(repr(frame.f_locals.get("self")))
        if name.startswith(NOISE):
            self._note_scales(frame)
        return self._ran if name.startswith(self.where) and not self.bits.place else None

    def _note_scales(self, frame: FrameType) -> None:
        """Note the arguments of a sampler that scale its noise."""
        for scale in SCALES:
            found = frame.f_locals.get(scale)
            if isinstance(found, float | int | Fraction):
                self.scales.add(f"{scale} = {found}")

    def _ran(self, frame: FrameType, event: str, value: object) -> Tracer:
        """Note a line that runs before anything is drawn."""
        if event == "line" and not self.bits.place:
            self.lines.add(f"line {frame.f_lineno} of {Path(frame.f_code.co_filename).name}")
        return self._ran


def replay(
    more: Callable[[Bits], object], less: Callable[[Bits], object], where: Path = MECHANISMS
) -> list[str]:
    """Release both of two neighbours with the same randomness, and return in which ways they differ.

    Parameters
    ----------
    more, less : callable
        The release of each neighbour. It draws from the bits it is given and returns all that it states as
        public, such as its thresholds.
    where : Path, default the mechanisms of this package
        The file or folder of the code whose branches are compared.

    Returns
    -------
    list of str
        A sentence for each difference; none if scales, statements and branches are functions of public
        values, as far as these neighbours show.

    Examples
    --------
    >>> from hushcount.noise.laplace import DiscreteLaplace
    >>> def release(counts):
    ...     return lambda bits: DiscreteLaplace(1 / len(counts)).sample(1, bits) * 0
    >>> replay(release([1, 1]), release([1]))
    ['The noise has another scale: DiscreteLaplace(epsilon=0.5).', \
'The noise has another scale: DiscreteLaplace(epsilon=1.0).']
    """
    for release in (more, less):  # fills all caches, so that both runs below find the same
        release(RecordedBits())
    first = _Watch[object](RecordedBits(), str(where))
    stated = first.release(more)
    second = _Watch[object](RecordedBits(first.bits.kept), str(where))
    other = second.release(less)
    found = [] if _alike(stated, other) else ["What is stated as public differs."]
    for one, two in ((first, second), (second, first)):
        if one.scales - two.scales:
            found.append(f"The noise has another scale: {', '.join(sorted(one.scales - two.scales))}.")
    for one, two in ((first, second), (second, first)):
        if one.lines - two.lines:
            found.append(f"Before any noise only one side runs {', '.join(sorted(one.lines - two.lines))}.")
    return found


def _alike(one: object, other: object) -> bool:
    """Return whether two statements are equal; arrays are if all their values are."""
    return bool(np.all(np.asarray(one == other)))
