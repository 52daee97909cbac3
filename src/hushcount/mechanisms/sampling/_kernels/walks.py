"""Walks over consecutive counts: reporting probabilities upwards, draws downwards, likelihoods upwards.

Every array is indexed by count, in ranges without a gap, so the step from one count to the next is a step to
the next element. Bounds (`low`, `high`) stand for the integers of rows.py as in bounds.py; the rest are the
floats of distribution.py.

Walks of many keys pass the same counts. LANES of them go side by side, in inner loops that have no branch and
few arrays, so that the processor takes several lanes in one instruction. Lanes are sorted by their start.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import kernel

LANES = 64
OFTEN = 64  # steps between two looks whether all lanes have ended


@kernel
def report_pieces(start: Any, sampling: Any, numbers: Any, widen: Any) -> Any:
    """Return lower and upper bounds of pi for the rows of two tables of sampling bounds.

    Row after row is one range of counts; `start` bounds pi just before each. Relative widening where values
    are small, absolute near 1.
    """
    ratio, step = numbers
    bounds = np.empty_like(sampling)
    rows, size = sampling.shape[1:]
    for row in range(rows):
        low, high = start[0, row], start[1, row]
        for place in range(size):
            full = low + step >= 1 + widen  # nothing is left to withhold
            least = 1 - max(1 - low - step, 0.0) / ratio - widen
            most = 1 - max(1 - high - step, 0.0) / ratio + widen
            low = max(min((step + ratio * low) * (1 - widen), least), 0.0)
            high = min((step + ratio * high) * (1 + widen), most)
            low = min(sampling[0, row, place], 1.0 if full else low)
            high = min(sampling[1, row, place], high)
            bounds[0, row, place], bounds[1, row, place] = low, high
    return bounds


@kernel
def walk_back(places: Any, mass: Any, falling: Any, numbers: Any, steps: Any) -> Any:
    """Follow masses down from sorted places until they turn negative, for at most `steps`.

    One step is `max(factor mass - offset, ratio mass + falling[place])`; `numbers` are factor, offset and
    ratio. Return the number of steps that each takes before it turns negative. `mass` is left at the masses
    from which they do.
    """
    taken = np.zeros(places.size)
    for first in range(0, places.size, LANES):
        last = min(first + LANES, places.size)
        start, now, gone = places[first:last], mass[first:last].copy(), taken[first:last]
        begun = start.size
        for place in range(start[-1], max(start[0] - steps, 0), -1):
            while begun > 0 and start[begun - 1] >= place:
                begun -= 1
            _step_back(now[begun:], mass[first + begun : last], gone[begun:], numbers, falling[place])
            if place % OFTEN == 0 and begun == 0 and now.max() < 0:
                break
    return taken


@kernel
def _step_back(mass: Any, before: Any, taken: Any, numbers: Any, curve: Any) -> None:
    """Take lanes one step down; those that are negative stay as they are."""
    factor, offset, ratio = numbers
    for lane in range(mass.size):
        now = mass[lane]
        rising, falls = factor * now - offset, ratio * now + curve
        further = rising if rising > falls else falls
        before[lane] = now if now >= 0 else before[lane]
        mass[lane] = further if now >= 0 else now
        taken[lane] += 1.0 if (now >= 0) & (further >= 0) else 0.0


@kernel
def report_range(before: Any, sampling: Any, ratio: Any, step: Any) -> Any:
    """Return pi along a range of counts in floats, from pi just before it."""
    masses = np.empty(sampling.size)
    for place in range(sampling.size):
        limit = 1 - max(1 - before - step, 0.0) / ratio
        before = min(sampling[place], step + ratio * before, limit)
        masses[place] = before
    return masses


@kernel
def likelihoods(places: Any, masses: Any, numbers: Any, depth: Any, failure: Any) -> Any:
    """Return for each value the place of its most likely count, and of the ends of its interval.

    `masses` is pi along a range of counts and `places` are the sorted places of the values in it. The masses
    from a value on (`high`) and above it (`low`) are followed upwards, for at most `depth` counts. They are
    equal to pi once nothing at or below the value is left, and stay so.
    """
    found = np.empty((3, places.size))
    found[0], found[1], found[2] = places, -1.0, places
    for first in range(0, places.size, LANES):
        last = min(first + LANES, places.size)
        start, begun, before = places[first:last], 0, 0
        low, high, best = np.zeros(start.size), np.zeros(start.size), np.zeros(start.size)
        for place in range(start[0], start[-1] + depth):
            while begun < start.size and start[begun] <= place:
                begun += 1
            _step_up(high[:begun], masses[place - 1], masses[place], numbers)
            _step_up(low[:before], masses[place - 1], masses[place], numbers)
            before, share = begun, failure / 2 * masses[place]
            _best(place, low[:begun], high[:begun], best[:begun], found[0, first:last])
            _first_reached(place, high[:begun], share, found[1, first:last])
            _last_reached(place, low[:begun], masses[place] - share, found[2, first:last])
            if place % OFTEN == 0 and begun == start.size and low.min() >= masses[place]:
                break
    return found


@kernel
def _step_up(mass: Any, before: Any, after: Any, numbers: Any) -> None:
    """Take masses to the next count: Grid.move in floats."""
    ratio, step = numbers
    rest = min(max(step - (1 - before) + ratio * (1 - after), 0.0), step)
    for lane in range(mass.size):
        below = before - mass[lane] - rest
        falls = after - (below if below > 0 else 0.0) / ratio
        rises = step + ratio * mass[lane]
        moved = rises if rises < falls else falls
        mass[lane] = moved if moved > 0 else 0.0


@kernel
def _best(place: Any, low: Any, high: Any, best: Any, likely: Any) -> None:
    """Keep the place at which the mass of a value is largest."""
    for lane in range(best.size):
        mass = high[lane] - low[lane]
        better = mass > best[lane] * (1 + 1e-9)
        best[lane] = mass if better else best[lane]
        likely[lane] = place if better else likely[lane]


@kernel
def _first_reached(place: Any, high: Any, share: Any, least: Any) -> None:
    """Keep the first place at which the mass from a value on is a share of pi."""
    for lane in range(high.size):
        least[lane] = place if (least[lane] < 0) & (high[lane] >= share) else least[lane]


@kernel
def _last_reached(place: Any, low: Any, rest: Any, most: Any) -> None:
    """Keep the last place at which the mass up to a value is a share of pi."""
    for lane in range(low.size):
        most[lane] = place if low[lane] <= rest else most[lane]
