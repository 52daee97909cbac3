"""Tracked keys with their counts in fewer bytes, as files hold them.

A number is written as what it is above the smallest, in 1, 2, 4 or 8 bytes, whichever makes the whole
shortest. What does not fit is written apart, with its place. Whatever is read must be what would have been
written.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Octets, Words

Arrays = Mapping[str, npt.NDArray[np.generic]]

FEWEST = 256  # keys from which on it is worth it
WIDTHS = (1, 2, 4, 8)
APART = 16  # bytes of a number that does not fit, and of its place
LARGEST = 1 << 62
PARTS = ("least", "low", "place", "high")  # the smallest number, with how many there are, comes first


def packed(arrays: Arrays) -> Arrays:
    """Return the same entries in fewer bytes, if they are many: counts as numbers, text by its lengths."""
    if len(arrays["counts"]) < FEWEST:
        return arrays
    short = _packed("counts", arrays["counts"].astype(np.uint64))
    if "words" in arrays:
        return {"words": arrays["words"], **short}
    offsets: Words = arrays["offsets"].astype(np.uint64)
    return {"data": arrays["data"], **_packed("lengths", offsets[1:] - offsets[:-1]), **short}


def unpacked(arrays: Arrays) -> Arrays:
    """Return entries as they were before; raise ValueError for what was not written so.

    Files of earlier versions, and those of few keys, are not packed.
    """
    if "counts" in arrays:
        return arrays
    whole: dict[str, npt.NDArray[np.generic]] = {}
    if "words" in arrays:
        whole["words"] = arrays["words"]
    else:
        lengths = _unpacked("lengths", arrays)
        offsets = np.zeros(len(lengths) + 1, np.uint64)
        np.cumsum(lengths, out=offsets[1:])
        whole["data"], whole["offsets"] = arrays["data"], offsets
    whole["counts"] = _unpacked("counts", arrays).astype(np.int64)
    again = packed(whole)
    same = again.keys() == arrays.keys() and all(_same(again[name], arrays[name]) for name in again)
    if not same:
        raise ValueError("counts")
    return whole


def _packed(name: str, numbers: Words) -> dict[str, npt.NDArray[np.generic]]:
    """Return the parts of numbers, of which there are some."""
    least = numbers.min()
    above = numbers - least
    width = min(WIDTHS, key=lambda width: width * len(above) + APART * len(_beyond(above, width)))
    place = _beyond(above, width)
    low = above.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].ravel()
    high = above[place] >> np.uint64(8 * width) if len(place) else np.zeros(0, np.uint64)
    parts = (np.array([least, len(numbers)], np.uint64), low, place.astype(np.uint64), high)
    return {f"{name}-{part}": array for part, array in zip(PARTS, parts, strict=True)}


def _beyond(above: Words, width: int) -> npt.NDArray[np.intp]:
    """Return the places of numbers that do not fit in so many bytes."""
    return np.flatnonzero(above >> np.uint64(8 * width)) if width < 8 else np.zeros(0, np.intp)


def _unpacked(name: str, arrays: Arrays) -> Words:
    """Return the numbers of parts, or raise ValueError."""
    least, low, place, high = (arrays[f"{name}-{part}"] for part in PARTS)
    kinds = [each.dtype.newbyteorder("=") for each in (least, low, place, high)]
    if kinds != [np.uint64, np.uint8, np.uint64, np.uint64] or len(least) != 2:
        raise ValueError(name)
    first, count = (int(each) for each in least)
    width = len(low) // max(count, 1)
    if width not in WIDTHS or len(low) != count * width:
        raise ValueError(name)
    octets: Octets = np.zeros((count, 8), np.uint8)
    octets[:, :width] = low.reshape(count, width)
    numbers = octets.view("<u8").ravel().astype(np.uint64)
    if len(place) and (width == 8 or int(place.astype(np.uint64).max()) >= count):
        raise ValueError(name)
    if len(place) != len(high):
        raise ValueError(name)
    numbers[place.astype(np.intp)] |= high.astype(np.uint64) << np.uint64(8 * width % 64)
    if first > LARGEST or (numbers > np.uint64(LARGEST)).any():
        raise ValueError(name)
    whole: Words = numbers + np.uint64(first)
    return whole


def _same(one: npt.NDArray[np.generic], other: npt.NDArray[np.generic]) -> bool:
    """Return whether two arrays are the same, types included."""
    return one.dtype == other.dtype.newbyteorder("=") and np.array_equal(one, other)
