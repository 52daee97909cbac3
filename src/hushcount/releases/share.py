"""Keys by their share of all events: which rows of a table are shown, and how sure that is.

A key with more than a share S of N events has at least floor(S N) + 1 of them. Noise may lower that count, so
the rows are shown whose noisy count is at least floor(S N) + 1 less what noise may take away. Holland 2025,
Algorithm 3, lowers its cut at n/k in the same way; a cut at S N itself would miss half of the keys just above
the share. The cut is a function of what is published, so it costs no privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from hushcount.releases.accuracy import RELIABLE, smallest_reliable

if TYPE_CHECKING:
    from hushcount.releases.release import Release


@dataclass(frozen=True, slots=True)
class ShareCut:
    """Keys with the share have true counts of at least `wanted`; rows of at least `shown` are shown.

    `reliable` is the smallest count that the mechanism itself publishes reliably, if that is known.
    """

    share: Fraction
    whole: str
    wanted: int
    shown: int
    reliable: int | None

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is shown, and whether all keys with the share are."""
        text = f"a share of {float(self.share):g} of {self.whole}"
        said = f"Shown are noisy counts of at least {self.shown:,}"
        wanted = f"A key with more than {text}, {self.wanted:,} events or more,"
        if self.reliable is None or self.reliable > self.wanted:
            least = "" if self.reliable is None else f", of which {self.reliable:,} are needed"
            return (
                f"{said}, for keys with more than {text}.",
                f"{wanted} may be missing{least}; more counters or a larger share would change this.",
            )
        return (f"{said}. {wanted} is shown with probability {RELIABLE:g}.",)


def share_cut(release: Release, share: Fraction, max_events: int | None) -> ShareCut:
    """Return which rows of a release to show; `share` is of its noisy total if it has one.

    The failure probability is divided among the count, the threshold of the mechanism and the total. If no
    public number bounds how far noise and sketch lower a count, all rows are shown.
    """
    total = release.total
    each = (1 - RELIABLE) / (2 if total is None else 3)
    events, whole = max_events or 0, "max_events"
    if total is not None:  # two_sided(2 p) is exceeded on one side with probability p
        events, whole = max(total.value - total.noise.two_sided(2 * each), 0), "all events"
    wanted = math.floor(share * events) + 1
    above = release.error.interval(1 - 2 * each)[1]
    shown = 0 if above is None else max(wanted - above, 0)
    return ShareCut(share, whole, wanted, shown, smallest_reliable(release, 1 - each))
