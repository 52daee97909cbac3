"""Intervals of the totals of a tree: how far the sum of several noises may go."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from hushcount.compiled.arrays import Counts, Floats, Mask
from hushcount.errors import ParameterError
from hushcount.mechanisms.hierarchy.together import MOST_EVENTS, Comparisons, Together, together
from hushcount.noise.gaussian import DiscreteGaussian, Distribution
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.releases.trees.nodes import AllNodes

if TYPE_CHECKING:
    from hushcount.releases.trees.nodes import Tops, TreeRows

_NEGLIGIBLE = 1e-12  # of the failure allowed, what may lie beyond the table
_LARGEST_TABLE = 1 << 21
_FINE = 32  # up to this many noises each number has its own interval, beyond steps of 2%


@dataclass(frozen=True, slots=True)
class TotalError:
    """A total is the true one plus as many independent noises as published rows are in its subtree.

    `height` and `max_events`, the public bound on the number of events, say how many nodes were tested.
    """

    noise: Distribution
    threshold: int
    height: int | None = None
    max_events: int | None = None

    def bounds(self, rows: TreeRows, confidence: float) -> tuple[Counts, Counts]:
        """Return the bounds for one node chosen before seeing the result.

        The rows below it are taken to be published almost surely.
        """
        sizes, place = np.unique(subtree_sizes(rows.parents), return_inverse=True)
        widths = [sum_within(self.noise, stepped(size), 1 - confidence) for size in sizes.tolist()]
        width = np.array(widths, dtype=np.int64)[place]
        return rows.totals - width, rows.totals + width

    def near(self, rows: TreeRows, confidence: float) -> Mask:
        """Return the rows with a residual in their subtree that the threshold may have selected."""
        sizes, place = np.unique(subtree_sizes(rows.parents), return_inverse=True)
        reach = [selected_below(self.noise, stepped(size), 1 - confidence) for size in sizes.tolist()]
        least = _smallest_below(rows.parents, rows.residuals)
        return np.asarray(least < self.threshold + np.array(reach, dtype=np.int64)[place])

    def all_nodes(self, confidence: float) -> AllNodes | None:
        """Return the error of every residual, and the residual of any node that is not published."""
        if self.height is None:
            return None
        found = self._together(confidence)
        missing = self.threshold + found.margin - 1
        return AllNodes(found.error, found.error, (missing,) * (self.height + 1))

    def unpublished(self, level: int, tops: Tops, confidence: float) -> tuple[int, int, int]:
        """Return the sum of what is published below a node, and bounds of its total."""
        failure, rows, estimate = 1 - confidence, tops.rows, int(tops.totals.sum())
        noise = 0
        if rows:
            failure = failure / 2
            noise = rows * self._together(1 - failure).error
        own = self.threshold + max(self.noise.least_tail(failure) - 1, 0) - 1
        return estimate, max(estimate - noise, 0), estimate + noise + own

    def _together(self, confidence: float) -> Together:
        """Return what holds for all nodes at once: a published node takes its events from its ancestors."""
        if self.height is None:
            raise ParameterError(LACKING)
        events = self.max_events or MOST_EVENTS
        return together(
            Comparisons(self.noise, self.threshold, self.height + 1, events, stopping=True), confidence
        )

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of, and what holds for all nodes at once."""
        noise = self.noise.two_sided(1 - confidence)
        own = (
            f"{picked(confidence)} its true residual lies within {noise} of its residual. A total sums the"
            " residuals of its subtree, and their noises.",
            NEAR,
        )
        known = self.all_nodes(confidence)
        return own if known is None else (*own, *self._all_sentences(known, confidence))

    def _all_sentences(self, known: AllNodes, confidence: float) -> tuple[str, ...]:
        """Say what holds for all nodes at once (Biswas et al. 2024, Theorem 3.2, corrected)."""
        error, missing, least = known.above, known.unpublished[0], self.threshold - known.above
        said = (
            f"{at_once(confidence, self.max_events)} every residual is within {error:,} of the truth, every"
            f" total within {error:,} for each row of its subtree, and every node with a true residual of at"
            f" least {missing + 1:,} is published; one that is not has a residual of at most {missing:,}.",
        )
        if error >= least:  # a relative error of 100% says nothing
            return said
        relative = (
            f"Then every total is within {percent(error / least)} of the truth; the published residuals"
            f" below an unpublished node, c of them, add up to its total within {percent(error / least)} +"
            f" {percent(missing / least)} / c of the truth."
        )
        return (*said, relative)


NEAR = (
    "Rows marked near_threshold (* where intervals are shown) are the exception: so close to the threshold a"
    " node is published only if its noise was high, so their numbers are too high on average and their"
    " intervals miss the truth more often."
)
LACKING = "This release was read from a file of an earlier version, which says nothing of unpublished nodes."


def picked(confidence: float) -> str:
    """Return how the sentence begins that is about one node."""
    return f"If you pick a node before you see the table, then with probability {confidence:g}"


def at_once(confidence: float, max_events: int | None) -> str:
    """Return how the sentence begins that is about all nodes at once."""
    events = f" (of at most {MOST_EVENTS:,} events)" if max_events is None else ""
    return f"For all nodes at once{events}, with probability {confidence:g},"


def percent(share: float) -> str:
    """Return a share in words, rounded up.

    >>> percent(0.07312), percent(12.3)
    ('7.4%', '1230%')
    """
    return f"{math.ceil(1000 * share) / 10:.10g}%"


@lru_cache(maxsize=4096)
def selected_below(noise: Distribution, count: int, failure: float) -> int:
    """Return how far above the threshold a residual may lie of which the threshold may select the noise.

    With all of `count` residuals further up, bounds of their sum hold given that they were published
    (docs/proofs/hierarchy/together.md, section 4).
    """
    reach = max(noise.least_tail(failure / (2 * count)) - 1, 0)
    return reach if count == 1 else 2 * reach


def _smallest_below(parents: Counts, residuals: Counts) -> Counts:
    """Return the smallest residual of each subtree; rows in depth-first order."""
    least = residuals.tolist()
    for row, parent in reversed(list(enumerate(parents.tolist()))):
        if parent >= 0:
            least[parent] = min(least[parent], least[row])
    return np.array(least, dtype=np.int64)


def subtree_sizes(parents: Counts) -> Counts:
    """Return how many published rows each subtree has, its own included; rows in depth-first order.

    >>> subtree_sizes(np.array([-1, 0, 1, 0])).tolist()
    [4, 2, 1, 1]
    """
    sizes = [1] * len(parents)
    for row, parent in reversed(list(enumerate(parents.tolist()))):
        if parent >= 0:
            sizes[parent] += sizes[row]
    return np.array(sizes, dtype=np.int64)


def stepped(count: int) -> int:
    """Return the next number of noises that has its own interval."""
    if count <= _FINE:
        return count
    return math.ceil(_FINE * 1.02 ** math.ceil(math.log(count / _FINE) / math.log(1.02)))


@lru_cache(maxsize=4096)
def sum_within(noise: Distribution, count: int, p: float) -> int:
    """Return a width r with P[|sum of `count` noises| > r] <= p, the smallest unless tables grow too long."""
    if count == 1:
        return noise.two_sided(p)
    widest = _chernoff(noise, count, p * _NEGLIGIBLE)
    if 2 * widest >= _LARGEST_TABLE:
        return _chernoff(noise, count, p)
    table = 1 << (2 * widest).bit_length()
    central = _wrapped(noise, count, table)
    outside = 1 - np.cumsum(np.concatenate((central[:1], 2 * central[1 : widest + 1])))
    enough = outside <= p * (1 - 1e-6) - 1e-13
    return int(np.argmax(enough)) if enough.any() else _chernoff(noise, count, p)


def _wrapped(noise: Distribution, count: int, table: int) -> Floats:
    """Return P[sum = s] for s = 0 .. table / 2, on a circle so large that what comes round is negligible."""
    angles: Floats = np.linspace(0, math.pi, table // 2 + 1)
    return np.fft.irfft(_characteristic(noise, angles) ** count, table)[: table // 2 + 1]


def _characteristic(noise: Distribution, angles: Floats) -> Floats:
    """Return E[cos(angle w)]."""
    if isinstance(noise, DiscreteLaplace):
        rate = float(noise.epsilon)
        half = math.sinh(rate / 2) ** 2
        return half / (half + np.sin(angles / 2) ** 2)
    reach = noise.two_sided(1e-18)
    z = np.arange(1, reach + 1)
    folded = np.zeros(2 * (len(angles) - 1))
    np.add.at(folded, np.concatenate((z, -z)) % len(folded), np.tile(noise.pmf(z), 2))
    folded[0] += noise.pmf(0)
    return np.asarray(np.fft.rfft(folded).real)


def _chernoff(noise: Distribution, count: int, p: float) -> int:
    """Return a width from P[|sum| > r] <= 2 E[exp(x w)]^count exp(-x r), at a good x."""
    far = math.log(2 / p)
    if isinstance(noise, DiscreteGaussian):  # E[exp(x w)] <= exp(x^2 sigma^2 / 2)
        return math.ceil(float(noise.sigma) * math.sqrt(2 * count * far))
    rate = float(noise.epsilon)
    half = math.sinh(rate / 2) ** 2
    x = rate * np.arange(1, 1000) / 1000  # E[exp(x w)] = sinh(rate/2)^2 / (sinh(rate/2)^2 - sinh(x/2)^2)
    log_moment = -np.log1p(-(np.sinh(x / 2) ** 2) / half)
    return math.ceil(float(np.min((count * log_moment + far) / x)))
