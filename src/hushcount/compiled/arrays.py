"""Names for the arrays that pass between rooms and kernels."""

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Octets = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
