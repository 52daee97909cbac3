"""What every sketch does with its bytes: give them, write them, be copied by them."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from hushcount.privacy import EVENT, PrivacyUnit
from hushcount.sketches import codec


class SavedSketch(ABC):
    """A sketch that is written as its parts. `unit` is what one row of its source stands for."""

    unit: PrivacyUnit = EVENT

    @abstractmethod
    def parts(self) -> tuple[str, dict[str, Any], codec.Arrays]:
        """What is written of the sketch."""

    def to_bytes(self, position: Mapping[str, Any] | None = None) -> bytes:
        """The sketch as bytes: raw data, to be kept as such."""
        return codec.encode(self, position)

    def save(self, path: str | os.PathLike[str], position: Mapping[str, Any] | None = None) -> None:
        """Write the sketch to a file for its owner alone: raw data, to be kept as such."""
        codec.save(self, path, position)

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        """Copies and pickles go by the bytes of the sketch."""
        return codec.load, (self.to_bytes(),)
