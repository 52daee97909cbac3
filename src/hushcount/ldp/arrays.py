"""Names for the array types of the local model; imported for type checking only."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Counts = npt.NDArray[np.int64]  # counts, and places in other arrays
Flags = npt.NDArray[np.bool_]
Nonces = npt.NDArray[np.uint64]
Symbols = npt.NDArray[np.uint8]
Flips = npt.NDArray[np.uint8]
Signs = npt.NDArray[np.int8]
Cells = npt.NDArray[np.uint32]
ItemWords = npt.NDArray[np.uint32]  # one item per row: its 32-bit words, least significant first
Tables = npt.NDArray[np.signedinteger]
