"""Names for the arrays that pass between rooms and kernels."""

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Octets = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Floats32 = npt.NDArray[np.float32]
Signs = npt.NDArray[np.int8]

# Of the local model.
Nonces = Words  # one nonce per row: its 64-bit words, least significant first
Symbols = npt.NDArray[np.uint16]
Flips = Octets
Cells = npt.NDArray[np.uint32]
ItemWords = Cells  # one item per row: its 32-bit words, least significant first
Tables = npt.NDArray[np.signedinteger]
