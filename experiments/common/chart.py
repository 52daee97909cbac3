"""Panels of lines as an SVG picture: the same numbers always give the same bytes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

# x, value, and the ends of a bar (equal to the value if there is none).
Point = tuple[float, float, float, float]

# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31", "#7f7f7f")
WIDTH, HEIGHT = 250, 160
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 26, 42
LINE = 17
FONT = 'font-family="sans-serif" font-size="11"'


@dataclass(frozen=True)
class Panel:
    """One pair of axes; `lines` are the points of each method."""

    title: str
    x: str
    y: str
    lines: dict[str, list[Point]]
    log_x: bool = False
    log_y: bool = False
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True)
class Axis:
    """Maps values to pixels, and says where its ticks are."""

    low: float
    high: float
    log: bool
    start: float
    end: float
    ticks: list[float] = field(default_factory=list)

    @classmethod
    def over(cls, values: Sequence[float], log: bool, start: float, end: float) -> Axis:
        """Return an axis that holds all values, of which those of a logarithmic one are above zero."""
        if not values:
            values = [0.1, 1.0]
        low, high = min(values), max(values)
        if log:
            ticks = _decades(low, high)
        else:
            low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
            ticks = _steps(low, high)
        return cls(min(low, ticks[0]), max(high, ticks[-1]), log, start, end, ticks)

    def __call__(self, value: float) -> float:
        """Return the pixel of a value."""
        low, high, at = self.low, self.high, value
        if self.log:
            low, high, at = math.log10(low), math.log10(high), math.log10(value)
        return round(self.start + (at - low) / (high - low) * (self.end - self.start), 1)


def points(rows: Iterable[dict[str, float]], x: str, y: str) -> list[Point]:
    """Return the points of rows by x; bars are the columns y_low and y_high, if there are any."""
    found = [(row[x], row[y], row.get(f"{y}_low", row[y]), row.get(f"{y}_high", row[y])) for row in rows]
    return sorted(each for each in found if each[1] is not None)


def draw(panels: Sequence[Panel], columns: int = 3) -> str:
    """Return the picture of panels, in rows of `columns`, with one legend below."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    cell = LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM
    columns = min(columns, len(panels))
    width, rows = cell[0] * columns, -(-len(panels) // columns)
    legend, depth = _legend(names, width)
    height = cell[1] * rows + depth
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" role="img">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for place, panel in enumerate(panels):
        left, top = place % columns * cell[0], place // columns * cell[1]
        parts += [f'<g transform="translate({left} {top})">', *_panel(panel, names), "</g>"]
    parts += [f'<g transform="translate(0 {cell[1] * rows})">', *legend, "</g>", "</svg>"]
    return "\n".join(parts) + "\n"


def _panel(panel: Panel, names: list[str]) -> list[str]:
    shown = {name: _positive(panel, points) for name, points in panel.lines.items()}
    every = [point for points in shown.values() for point in points]
    heights = [value for point in every for value in point[1:]] + list(panel.bounds or ())
    across = Axis.over([point[0] for point in every], panel.log_x, LEFT, LEFT + WIDTH)
    up = Axis.over(heights, panel.log_y, TOP + HEIGHT, TOP)
    parts = _frame(panel, across, up)
    for name, points in shown.items():
        parts += _line(points, _style(name, names), (across, up))
    return parts


def _positive(panel: Panel, points: list[Point]) -> list[Point]:
    """Return the points that logarithmic axes can show; the low end of a bar stops at its value."""
    if panel.log_x:
        points = [point for point in points if point[0] > 0]
    if panel.log_y:
        points = [(x, y, low if low > 0 else y, high) for x, y, low, high in points if y > 0]
    return points


def _frame(panel: Panel, across: Axis, up: Axis) -> list[str]:
    middle = LEFT + WIDTH / 2
    parts = [
        f'<text x="{middle}" y="15" text-anchor="middle" font-weight="bold" {FONT}>'
        f"{escape(panel.title)}</text>",
        f'<text x="{middle}" y="{TOP + HEIGHT + 33}" text-anchor="middle" {FONT}>{escape(panel.x)}</text>',
        f'<text transform="translate(13 {TOP + HEIGHT / 2}) rotate(-90)" text-anchor="middle"'
        f" {FONT}>{escape(panel.y)}</text>",
    ]
    for tick in up.ticks:
        y = up(tick)
        parts += [
            f'<path d="M{LEFT} {y}h{WIDTH}" stroke="#ddd"/>',
            f'<text x="{LEFT - 5}" y="{y + 4}" text-anchor="end" {FONT}>{_text(tick)}</text>',
        ]
    for tick in across.ticks:
        x = across(tick)
        parts += [
            f'<path d="M{x} {TOP + HEIGHT}v4" stroke="#333"/>',
            f'<text x="{x}" y="{TOP + HEIGHT + 17}" text-anchor="middle" {FONT}>{_text(tick)}</text>',
        ]
    return [*parts, f'<path d="M{LEFT} {TOP}v{HEIGHT}h{WIDTH}" fill="none" stroke="#333"/>']


def _line(points: list[Point], style: tuple[str, str], axes: tuple[Axis, Axis]) -> list[str]:
    (colour, dash), (across, up) = style, axes
    at = [(across(x), up(y), up(low), up(high)) for x, y, low, high in points]
    path = " ".join(f"{x} {y}" for x, y, _, _ in at)
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"{dash}/>']
    if len(points) <= 20:
        parts += [f'<circle cx="{x}" cy="{y}" r="2.4" fill="{colour}"/>' for x, y, _, _ in at]
    bars = [f"M{x - 2} {low}h4M{x - 2} {high}h4M{x} {low}V{high}" for x, _, low, high in at if low != high]
    return [*parts, *(f'<path d="{bar}" stroke="{colour}"/>' for bar in bars)]


def _legend(names: list[str], width: int) -> tuple[list[str], int]:
    """Return the names with their lines, in columns as wide as the longest name, and how high they are."""
    each = 44 + 6.4 * max((len(name) for name in names), default=0)
    columns = max(1, int(width // each))
    parts = []
    for index, name in enumerate(names):
        colour, dash = _style(name, names)
        x, y = round(10 + index % columns * each, 1), index // columns * LINE + 8
        parts += [
            f'<path d="M{x} {y}h24" stroke="{colour}" stroke-width="2"{dash}/>',
            f'<text x="{round(x + 29, 1)}" y="{y + 4}" {FONT}>{escape(name)}</text>',
        ]
    return parts, -(-len(names) // columns) * LINE + 10


def _style(name: str, names: list[str]) -> tuple[str, str]:
    """Return the colour of a line, and dashes for theory and truth and for lines beyond the colours."""
    index = names.index(name)
    dashed = name.endswith(("theory", "true")) or index >= len(COLOURS)
    return COLOURS[index % len(COLOURS)], ' stroke-dasharray="6 3"' if dashed else ""


def _decades(low: float, high: float) -> list[float]:
    """Return powers of ten around the values, at most six of them; between two, also twos and fives."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    last = max(last, first + 1)
    if last - first == 1:
        ticks = [base * 10.0**first for base in (1, 2, 5, 10)]
        inside = [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]
        return inside if len(inside) > 1 else ticks
    step = -(-(last - first) // 5)
    return [10.0**power for power in range(first, last + 1, step)]


def _steps(low: float, high: float) -> list[float]:
    """Return about four round numbers that begin at or below the lowest value."""
    step: float = 10.0 ** math.floor(math.log10((high - low) / 3))
    step *= next((factor for factor in (1, 2, 5) if (high - low) / (step * factor) <= 5), 10)
    first = math.floor(low / step + 1e-9)
    count = math.ceil((high - first * step) / step - 1e-9)
    return [round((first + index) * step, 12) for index in range(count + 1)]


def _text(value: float) -> str:
    """Return a number as short as an axis needs it."""
    units: list[tuple[float, str]] = [(1e9, "G"), (1e6, "M"), (1e3, "k")]
    for unit, letter in units:
        if abs(value) >= unit:
            return f"{value / unit:g}{letter}"
    if value and abs(value) < 1e-3:
        return f"{value:.0e}".replace("e-0", "e-")
    return f"{value:.6g}"


def panel_of(
    rows: Iterable[dict[str, float | str]],
    title: str,
    axes: tuple[str, str, str, str],
    keep: Callable[[dict[str, float | str]], bool],
    **options: object,
) -> Panel:
    """Return the panel of the rows that are kept: axes are column and title of x, then of y."""
    x, x_title, y, y_title = axes
    lines: dict[str, list[dict[str, float]]] = {}
    for row in rows:
        if keep(row):
            lines.setdefault(str(row["method"]), []).append(row)  # type: ignore[arg-type]
    drawn = {name: points(each, x, y) for name, each in lines.items()}
    return Panel(title, x_title, y_title, drawn, **options)  # type: ignore[arg-type]
