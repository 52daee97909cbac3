"""Names for the array types of the local model, besides those of all rooms; they serve type checking only."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Counts, Floats, Mask
from hushcount.compiled.arrays import Octets as Symbols
from hushcount.compiled.arrays import Words as Nonces

__all__ = [
    "Cells",
    "Counts",
    "Flips",
    "Floats",
    "Floats32",
    "ItemWords",
    "Mask",
    "Nonces",
    "Signs",
    "Symbols",
    "Tables",
]

Floats32 = npt.NDArray[np.float32]
Flips = Symbols
Signs = npt.NDArray[np.int8]
Cells = npt.NDArray[np.uint32]
ItemWords = Cells  # one item per row: its 32-bit words, least significant first
Tables = npt.NDArray[np.signedinteger]
