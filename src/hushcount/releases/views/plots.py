"""Pictures of a release: counts by rank, and for samples how likely a key is to appear.

Each is SVG text. The report colours it by its style sheet, a file of its own carries its colours with it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushcount.files.atomic import Outputs
from hushcount.releases.accuracy import SanitisedError, ShardedError, threshold_of
from hushcount.releases.views.icicle import check_plot, icicle
from hushcount.releases.views.report_markup import Markup, element, trusted

if TYPE_CHECKING:
    from hushcount.releases.estimators import RowDistribution
    from hushcount.releases.release import Release
    from hushcount.releases.tree import TreeRelease

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 96, 16, 20, 60  # room around the axes
HEAD = 76  # of a file of its own, for its title
POINTS = 240  # of a curve, evenly spaced on a log scale
DOTS = 40  # ranks that are also marked by a dot
MANY = 10**6  # from which ticks are written in millions
STYLE = (
    "text{font:14px system-ui,Helvetica,Arial,sans-serif;fill:#5b6673}"
    ".title{font-size:18px;font-weight:600;fill:#1d2733}.grid{stroke:#e3e7eb}.axis{stroke:#8a949e}"
    ".band{fill:#2f5d8a;fill-opacity:.16}.curve{stroke:#2f5d8a;stroke-width:2;fill:none}.dot{fill:#2f5d8a}"
    ".limit{stroke:#b0492a;stroke-dasharray:6 4}.limit-name{fill:#b0492a}"
    ".floor{stroke:#6f5b9e;stroke-dasharray:2 4}.floor-name{fill:#6f5b9e}"
)


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture; a notebook shows it, and `write` saves it.

    Parameters
    ----------
    svg : str
        The picture as the text of an SVG file.
    """

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file, which appears whole or not at all.

        Parameters
        ----------
        path : path
            The file to write; it must end in .svg.
        """
        with Outputs() as outputs:
            prepare_plot(self, path, outputs)
            outputs.commit()


def plot_of(release: Release | TreeRelease) -> Plot:
    """Return the picture of a release as a file of its own: an icicle of a tree, or counts by rank."""
    from hushcount.releases.release import Release

    if not isinstance(release, Release):
        return Plot(icicle(release))
    size = f"0 0 {WIDTH} {HEAD + HEIGHT}"
    promise = release.guarantee
    words = (
        f"{len(release):,} rows; ({promise.epsilon:g}, {promise.delta:g})-differential privacy for"
        f" {promise.unit.protects}"
    )
    whole = element(
        "svg",
        element("style", trusted(STYLE)),
        element("rect", width="100%", height="100%", fill="#ffffff"),
        element("text", "Published counts by rank", x=24, y=32, class_="title"),
        element("text", words, x=24, y=56),
        element("g", *_ranks(release), transform=f"translate(0 {HEAD})"),
        xmlns="http://www.w3.org/2000/svg",
        width=WIDTH,
        height=HEAD + HEIGHT,
        viewBox=size,
        role="img",
        aria_label=rank_words(release),
    )
    return Plot(whole + "\n")


def prepare_plot(plot: Plot, path: str | os.PathLike[str], outputs: Outputs) -> None:
    """Write the picture to an SVG file that appears together with the others of `outputs`."""
    check_plot(path)
    with outputs.file(path) as stream:
        stream.write(plot.svg.encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class LogScale:
    """Positions of counts on a logarithmic axis of whole decades; what lies outside is put on its ends."""

    low: int
    high: int
    start: float
    end: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> LogScale:
        """Return the smallest axis of at least one decade that holds all values of at least 1."""
        smallest, largest = max(min(values, default=1), 1), max(values, default=1)
        low = math.floor(math.log10(smallest))
        return cls(low, max(math.ceil(math.log10(max(largest, 1))), low + 1), start, end)

    def __call__(self, value: float) -> float:
        """Return the position of a count."""
        share = (math.log10(max(value, 1e-9)) - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * min(max(share, 0.0), 1.0)

    @property
    def ticks(self) -> list[int]:
        """The powers of ten on the axis, every other one if there are many."""
        step = 1 if self.high - self.low <= 6 else 2
        return [10**power for power in range(self.low, self.high + 1, step)]


def rank_plot(release: Release) -> Markup:
    """Return the counts by rank with their intervals, the threshold and the floor, for the report."""
    return _figure(_ranks(release), rank_words(release))


def rank_words(release: Release) -> str:
    """Return what the picture of the counts shows, in a sentence."""
    counts = release.table["count"].to_pylist()
    if not counts:
        return "Counts by rank: no key was published."
    return (
        f"Counts by rank, both axes logarithmic: {len(counts):,} rows, from {max(counts):,} for the first"
        f" down to {min(counts):,} for the last."
    )


def reporting_distribution(release: Release) -> RowDistribution | None:
    """Return how likely a key of each count is to appear, if the mechanism states it count by count."""
    error = release.error
    return error.distribution if isinstance(error, SanitisedError) and error.offset == 0 else None


def reporting_plot(distribution: RowDistribution) -> Markup:
    """Return the probability to appear by true count, for the report."""
    return _figure(_reporting(distribution), "The probability that a key appears, by its true count.")


def reporting_steps(distribution: RowDistribution) -> list[tuple[int, float]]:
    """Return a few true counts, each with the probability that such a key appears."""
    last = _surely(distribution)
    counts = sorted({max(round(last**share), 1) for share in (0, 0.25, 0.5, 0.75, 0.9, 1)})
    return list(zip(counts, distribution.reporting(counts).tolist(), strict=True))


def _surely(distribution: RowDistribution) -> int:
    """Return a power of two from which a key appears with probability 0.999, or 2**40."""
    last = 1
    while last < 1 << 40 and float(distribution.reporting([last])[0]) < 0.999:
        last *= 2
    return last


def _reporting(distribution: RowDistribution) -> Iterator[Markup]:
    """Yield the parts of the picture of the probability to appear."""
    across = LogScale.over([1, _surely(distribution)], LEFT, WIDTH - RIGHT)
    up = HEIGHT - BOTTOM - TOP
    yield from _ticks_across(across, "true count of a key (log scale)")
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        yield from _tick_up(TOP + (1 - share) * up, f"{share:g}")
    yield _title_up("probability to appear")
    counts = _spread(10**across.high)
    heights = distribution.reporting(counts).tolist()
    points = [(across(count), TOP + (1 - share) * up) for count, share in zip(counts, heights, strict=True)]
    yield element("path", d=_path(points), class_="curve")


def _ranks(release: Release) -> Iterator[Markup]:
    """Yield the parts of the picture of the counts."""
    table = release.table
    counts, lower = table["count"].to_pylist(), table["lower"].to_pylist()
    upper = [
        count if high is None else high
        for count, high in zip(counts, table["upper"].to_pylist(), strict=True)
    ]
    limit = smallest_published(release)
    floor = release.floor if release.guarantee.unit.relation is None else None
    marks = [mark for mark in (limit, floor) if mark is not None and mark > 0]
    across = LogScale.over([1, max(len(counts), 10)], LEFT, WIDTH - RIGHT)
    up = LogScale.over([*counts, *upper, *marks, *(low for low in lower if low > 0)], HEIGHT - BOTTOM, TOP)
    yield from _ticks_across(across, "rank (log scale)")
    for tick in up.ticks:
        yield from _tick_up(up(tick), short(tick))
    yield _title_up("count (log scale)")
    chosen = _spread(len(counts))
    band = [(across(rank), up(upper[rank - 1])) for rank in chosen]
    band += [(across(rank), up(lower[rank - 1])) for rank in reversed(chosen)]
    if counts:
        yield element("path", d=_path(band) + "Z", class_="band")
        yield element(
            "path", d=_path([(across(rank), up(counts[rank - 1])) for rank in chosen]), class_="curve"
        )
    for rank in range(1, min(len(counts), DOTS) + 1):
        yield element("circle", cx=across(rank), cy=up(counts[rank - 1]), r=3, class_="dot")
    yield from _marks(up, limit, floor)


def _marks(up: LogScale, limit: int | None, floor: int | None) -> Iterator[Markup]:
    """Yield the lines of the threshold and of the floor, named on the left, where counts are high above."""
    if limit is not None and limit > 0:
        yield _across(up(limit), "limit")
        words = f"smallest noisy count that is published: {limit:,}"
        yield element("text", words, x=LEFT + 8, y=up(limit) - 7, class_="limit-name")
    if floor is not None and floor > 0:
        yield _across(up(floor), "floor")
        below = up(floor) + 17
        place = below if below < HEIGHT - BOTTOM else up(floor) - 7  # not among the numbers of the axis
        yield element("text", f"noisy floor: {floor:,}", x=LEFT + 8, y=place, class_="floor-name")


def smallest_published(release: Release) -> int | None:
    """Return the smallest noisy count that is published, as far as public numbers tell."""
    if isinstance(release.error, SanitisedError):  # published by probability: the other picture shows it
        return None
    if release.guarantee.unit.relation is not None:  # of local reports, the floor is the threshold
        return release.floor
    if isinstance(release.error, ShardedError):
        return max(release.error.least_published, 1)
    least = threshold_of(release)  # none where the largest are published, whatever they are
    return None if least is None else max(least, 1)


def short(tick: int) -> str:
    """Return the number of a tick.

    >>> short(1000), short(10**7), short(10**9)
    ('1,000', '10M', '1,000M')
    """
    return f"{tick:,}" if tick < MANY else f"{tick // MANY:,}M"


def _spread(last: int) -> list[int]:
    """Return ranks or counts from 1 to the last, evenly spaced on a log scale."""
    return sorted({round(last ** (step / POINTS)) for step in range(POINTS + 1)}) if last else []


def _path(points: Sequence[tuple[float, float]]) -> str:
    """Return straight lines through points."""
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _figure(parts: Iterator[Markup], words: str) -> Markup:
    """Return a picture that is as wide as its page."""
    return element(
        "svg", *parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", class_="plot", role="img", aria_label=words
    )


def _ticks_across(across: LogScale, title: str) -> Iterator[Markup]:
    bottom = HEIGHT - BOTTOM
    for tick in across.ticks:
        x = across(tick)
        anchor = "end" if x > WIDTH - RIGHT - 20 else "middle"
        yield element("line", x1=x, x2=x, y1=TOP, y2=bottom, class_="grid")
        yield element("text", short(tick), x=x, y=bottom + 22, text_anchor=anchor)
    yield element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=bottom, y2=bottom, class_="axis")
    yield element("text", title, x=(LEFT + WIDTH - RIGHT) / 2, y=HEIGHT - 8, text_anchor="middle")


def _tick_up(y: float, words: str) -> Iterator[Markup]:
    yield _across(y, "grid")
    yield element("text", words, x=LEFT - 10, y=y + 5, text_anchor="end")


def _title_up(words: str) -> Markup:
    middle = (TOP + HEIGHT - BOTTOM) / 2
    return element(
        "text",
        words,
        x=16,
        y=middle,
        text_anchor="middle",
        transform=f"rotate(-90 16 {middle:g})",
        class_="up",
    )


def _across(y: float, kind: str) -> Markup:
    """Return a line across the picture."""
    return element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_=kind)
