"""An icicle of a tree release as SVG.

Each column is one level of nesting, the height of a box is its total, and what no box to its right covers is
its residual.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from colorsys import hls_to_rgb
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from hushcount.errors import ParameterError
from hushcount.releases.views.tables import visible
from hushcount.releases.views.trees import unpadded

if TYPE_CHECKING:
    from hushcount.releases.tree import TreeRelease

WIDTH = 1200
MARGIN = 24
HEAD = 84
FOOT = 56
LINE = 18  # the smallest height of a box that has room for its label
LETTER = 6.7  # average width of a letter of the 12 px font
LEAST_HEIGHT = 320
MOST_HEIGHT = 2400
NARROWEST = 120
HUES = (210, 28, 145, 340, 265, 55, 185, 0, 95, 300)
STYLE = (
    "text{font:12px system-ui,Helvetica,Arial,sans-serif;fill:#1d2733}"
    ".title{font-size:18px;font-weight:600}.words{fill:#5b6673}.total{fill:#3a4552;fill-opacity:.75}"
)


@dataclass(slots=True)
class Box:
    """A node of the picture with the boxes inside it."""

    label: str
    level: int
    residual: int
    total: int
    inner: list[Box] = field(default_factory=list)
    size: int = 0  # what its height stands for: its total, or its children's if noise made them larger
    depth: int = 1  # how many columns it takes


@dataclass(frozen=True, slots=True)
class Place:
    """Where a box is drawn."""

    left: float
    top: float
    width: float
    height: float


def check_plot(path: str | os.PathLike[str]) -> None:
    """Raise unless a picture can be written under this name."""
    if not os.fspath(path).lower().endswith(".svg"):
        raise ParameterError(f"plot must end in .svg, got {path}.")


def icicle(release: TreeRelease) -> str:
    """Return the picture as SVG text."""
    roots = boxes(release)
    columns = max((box.depth for box in roots), default=1)
    width = max(WIDTH, 2 * MARGIN + columns * NARROWEST)
    height = _height(roots, release)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEAD + height + FOOT}"'
        f' viewBox="0 0 {width} {HEAD + height + FOOT}" role="img">',
        f"<style>{STYLE}</style>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        *_head(release),
        *_drawn(roots, Place(MARGIN, HEAD, (width - 2 * MARGIN) / columns, height)),
        *_foot(release, HEAD + height),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _height(roots: list[Box], release: TreeRelease) -> int:
    """Return a height at which the smallest box has room for its label, within limits."""
    whole = sum(box.size for box in roots)
    smallest = max(min(release.rows.totals.tolist(), default=1), 1)
    return int(min(max(LEAST_HEIGHT, (LINE + 1) * whole / smallest), MOST_HEIGHT))


def boxes(release: TreeRelease) -> list[Box]:
    """Return the outermost boxes: nodes without a published ancestor, in the order of the table."""
    rows = release.rows
    labels = [unpadded(label) for label in rows.nodes.to_pylist()]
    columns = (labels, rows.levels.tolist(), rows.residuals.tolist(), rows.totals.tolist())
    made = [Box(*values) for values in zip(*columns, strict=True)]
    parents = rows.parents.tolist()
    for box, parent in zip(reversed(made), reversed(parents), strict=True):  # children before parents
        box.inner.reverse()
        box.size = max(box.total, sum(inner.size for inner in box.inner), 1)
        box.depth = 1 + max((inner.depth for inner in box.inner), default=0)
        if parent >= 0:
            made[parent].inner.append(box)
    return [box for box, parent in zip(made, parents, strict=True) if parent < 0]


def _head(release: TreeRelease) -> Iterator[str]:
    promise = release.guarantee
    title = f"Hierarchical heavy hitters: {escape(release.hierarchy)}"
    yield f'<text x="{MARGIN}" y="34" class="title">{title}</text>'
    yield (
        f'<text x="{MARGIN}" y="58" class="words">{len(release):,} nodes with a noisy residual of at least'
        f" {release.threshold:,}; ({promise.epsilon:g}, {promise.delta:g})-differential privacy for"
        f" {escape(promise.unit.protects)}</text>"
    )


def _foot(release: TreeRelease, top: float) -> Iterator[str]:
    words = "The height of a box is its noisy total; what no box to its right covers is its residual."
    if not len(release):
        words = f"No node was published: a node needs a noisy residual of at least {release.threshold:,}."
    yield f'<text x="{MARGIN}" y="{top + 32:.0f}" class="words">{words}</text>'


@dataclass(frozen=True, slots=True)
class Placed:
    """A box with its place, the number of its branch (None for a single root) and its column."""

    box: Box
    place: Place
    branch: int | None
    column: int


def placed(roots: list[Box], whole: Place) -> Iterator[Placed]:
    """Yield all boxes, parents before what is inside them; `whole` has the width of one column.

    A single outermost box (the root) has no branch of its own: its children do.
    """
    scale = whole.height / max(sum(box.size for box in roots), 1)
    branches = [None] if len(roots) == 1 else list(range(len(roots)))
    waiting = _under(whole, list(zip(roots, branches, strict=True)), scale, 0)
    while waiting:
        one = waiting.pop()
        yield one
        inner = one.box.inner
        own = list(range(len(inner))) if one.branch is None else [one.branch] * len(inner)
        right = Place(one.place.left + whole.width, one.place.top, whole.width, one.place.height)
        waiting += _under(right, list(zip(inner, own, strict=True)), scale, one.column + 1)


def _under(where: Place, boxes: list[tuple[Box, int | None]], scale: float, column: int) -> list[Placed]:
    """Return boxes under each other from the top of a place, the last one first."""
    found, top = [], where.top
    for box, branch in boxes:
        place = Place(where.left, top, where.width, box.size * scale)
        found.append(Placed(box, place, branch, column))
        top += place.height
    return found[::-1]


def _drawn(roots: list[Box], whole: Place) -> Iterator[str]:
    """Yield the drawing of all boxes."""
    for one in placed(roots, whole):
        yield from _box(one.box, one.place, _colour(one.branch, one.column))


def _colour(branch: int | None, depth: int) -> str:
    """Return the colour of a box as hex, which every renderer knows: paler with each column."""
    if branch is None:
        return _hex(215, 0.16, 0.88)
    paler = min(depth, 8)
    return _hex(HUES[branch % len(HUES)], 0.60 - 0.03 * paler, 0.74 + 0.02 * paler)


def _hex(hue: int, saturation: float, lightness: float) -> str:
    parts = hls_to_rgb(hue / 360, lightness, saturation)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


def _box(box: Box, place: Place, colour: str) -> Iterator[str]:
    label = visible(box.label)
    words = f"{label}: total {box.total:,}, residual {box.residual:,}, level {box.level}"
    yield (
        f'<g><title>{escape(words)}</title><rect x="{place.left:.1f}" y="{place.top:.2f}"'
        f' width="{place.width - 1:.1f}" height="{max(place.height - 1, 0.5):.2f}" rx="2" fill="{colour}"/>'
    )
    if place.height >= LINE:
        yield from _label(label, f"{box.total:,}", place)
    yield "</g>"


def _label(label: str, total: str, place: Place) -> Iterator[str]:
    """Yield the name on the left and the total on the right, or below it in a tall box, if there is room."""
    letters = int((place.width - 12) / LETTER)
    tall = place.height >= 2 * LINE + 4
    room = letters if tall else letters - len(total) - 1
    baseline = place.top + place.height / 2 + (-3 if tall else 4)
    name = label if len(label) <= room else label[: max(room - 1, 1)] + "…"
    yield f'<text x="{place.left + 6:.1f}" y="{baseline:.1f}">{escape(name)}</text>'
    if tall:
        yield f'<text x="{place.left + 6:.1f}" y="{baseline + 15:.1f}" class="total">{total}</text>'
    elif len(name) + 1 + len(total) <= letters:
        yield (
            f'<text x="{place.left + place.width - 7:.1f}" y="{baseline:.1f}" class="total"'
            f' text-anchor="end">{total}</text>'
        )
