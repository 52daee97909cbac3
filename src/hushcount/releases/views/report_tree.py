"""The picture of a tree in a report: an icicle whose boxes can be entered by mouse and by keyboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushcount.releases.views.icicle import HUES, Box, Place, Placed, boxes, placed
from hushcount.releases.views.report_markup import Markup, element

if TYPE_CHECKING:
    from hushcount.releases.tree import TreeRelease

BOXES = 2000  # that are drawn at most, the largest
HEIGHT = 560  # of the picture in pixels, as in the style sheet
LINE = 17  # the smallest height of a box with a label
PALEST = 7  # columns after which boxes become no paler


def icicle_of(release: TreeRelease) -> Markup:
    """Return the picture; places are percentages, so that letters keep their size on a narrow screen."""
    roots = boxes(release)
    columns = max((box.depth for box in roots), default=1)
    whole = list(placed(roots, Place(0.0, 0.0, 100 / columns, 100.0)))
    drawn = sorted(sorted(range(len(whole)), key=lambda row: (-whole[row].box.size, row))[:BOXES])
    items = (_item(whole[row], first=place == 0) for place, row in enumerate(drawn))
    return element("svg", *items, id="icicle", role="tree", aria_label="The published nodes, by total")


WALKING = (
    "Select a box to see it larger, or use the arrow keys to walk, Enter to go in and Escape to come out."
)


def caption(release: TreeRelease) -> str:
    """Return what the picture shows."""
    words = "The height of a box is its noisy total; what no box to its right covers is its residual."
    many = len(release) > BOXES
    return f"{words} The {BOXES:,} largest nodes are drawn; the table has all." if many else words


def _item(one: Placed, first: bool) -> Markup:
    """Return one box with its label, which is clipped at its edge."""
    box, place = one.box, one.place
    branch = "root" if one.branch is None else f"h{one.branch % len(HUES)}"
    return element(
        "svg",
        element("rect", width="100%", height="100%", fill_opacity=1 - 0.09 * min(one.column, PALEST)),
        *_label(box, place.height),
        class_=f"box {branch}",
        role="treeitem",
        aria_level=one.column + 1,
        aria_label=f"{box.label} {box.total:,}, residual {box.residual:,}",
        tabindex=0 if first else -1,
        x=f"{place.left:.3f}%",
        y=f"{place.top:.4f}%",
        width=f"{place.width:.3f}%",
        height=f"{place.height:.4f}%",
        data_column=one.column,
    )


def _label(box: Box, height: float) -> tuple[Markup, Markup]:
    """Return the name and the total; a low box has no room for them, a middling one for the name alone."""
    pixels = height * HEIGHT / 100
    # A blank parts the two for those who hear them; nothing is drawn of it.
    name = element("text", box.label, x=6, y=14, display=None if pixels >= LINE else "none")
    total = element(
        "text", f" {box.total:,}", x=6, y=30, class_="total", display=None if pixels >= 2 * LINE else "none"
    )
    return name, total
