"""Lists of keys without counts: a release whose table has the key columns only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushcount.errors import ParameterError
from hushcount.privacy import Guarantee
from hushcount.releases.accuracy import Counted
from hushcount.releases.release import Release

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from hushcount.compiled.arrays import Counts, Floats
    from hushcount.releases.views.plots import Plot

KEYS_ONLY = Counted("keys", "Only keys are published: no count, no order by frequency.")


@dataclass(frozen=True, slots=True)
class NoCounts:
    """The error model of keys without counts: there is nothing to bound; `said` are its sentences."""

    said: tuple[str, ...] = ()

    def interval(self, confidence: float) -> tuple[int, None]:
        """Return nothing that says anything: there is no count."""
        return 0, None

    def simultaneous(self, confidence: float) -> None:
        """Return None: there is no count."""
        return

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Return what is known of the keys that are published."""
        return self.said

    def columns(self, counts: Counts, confidence: float) -> Mapping[str, Counts | Floats]:
        """Return no further column."""
        return {}


@dataclass(frozen=True, slots=True, repr=False)
class KeyList(Release):
    """Published keys, sorted, without any count, with their guarantee."""

    def plot(self) -> Plot:
        """Raise ParameterError: without counts there is nothing to draw."""
        raise ParameterError(
            "A list of keys has no counts, so there is no picture of it; report has the list."
        )

    @classmethod
    def of_keys(cls, keys: pa.Array, guarantee: Guarantee, said: tuple[str, ...] = ()) -> KeyList:
        """Return a mechanism's output sorted by key.

        Parameters
        ----------
        keys
            The published keys, in any order.
        guarantee
            As for the release itself.
        said
            Sentences on which keys are published, from public numbers.
        """
        import numpy as np

        whole = Release.of(keys, np.zeros(len(keys), np.int64), guarantee, NoCounts(said))
        return cls(whole.keys, whole.counts, guarantee, whole.error, counted=KEYS_ONLY)
