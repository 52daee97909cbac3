"""HTML and SVG whose texts are escaped by construction: only `element` and `trusted` make markup."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from hushcount.releases.views.tables import visible

EMPTY_ELEMENTS = frozenset(("meta", "input", "br"))


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def element(tag: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """Return one element; children and values are escaped unless they are markup.

    Control characters, and those that turn the direction of text, become visible escapes.

    Parameters
    ----------
    tag : str
        The name of the element.
    *children : str
        What is inside.
    **attributes : str, number or None
        An underscore stands for a hyphen, and one at the end is dropped (class_). None leaves the attribute
        out, and an empty text gives one without a value.

    Examples
    --------
    >>> element("p", "1 < 2", element("b", "a\\x1b"), class_="sum")
    '<p class="sum">1 &lt; 2<b>a\\\\x1b</b></p>'
    """
    opened = tag + "".join(_attribute(name, value) for name, value in attributes.items() if value is not None)
    if tag in EMPTY_ELEMENTS:
        return Markup(f"<{opened}>")
    return Markup(f"<{opened}>{joined(children)}</{tag}>")


def joined(children: Iterable[str]) -> Markup:
    """Return texts and markup one after the other, the texts escaped."""
    return Markup(
        "".join(child if isinstance(child, Markup) else escape(visible(child)) for child in children)
    )


def trusted(text: str) -> Markup:
    """Return text of our own, such as a style sheet, as markup."""
    return Markup(text)


def in_script(json_text: str) -> Markup:
    """Return JSON as it may stand inside a script element: the same values, and nothing ends the element.

    >>> in_script('{"a": "</script>"}')
    '{"a": "\\\\u003c/script\\\\u003e"}'
    """
    safe = json_text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(
        "".join(char if not "\ud800" <= char <= "\udfff" else f"\\u{ord(char):04x}" for char in safe)
        if not safe.isascii()
        else safe
    )


def _attribute(name: str, value: str | float) -> str:
    """Return one attribute, with a blank before it."""
    shown = name.rstrip("_").replace("_", "-")
    return f" {shown}" if value == "" else f' {shown}="{escape(visible(number(value)))}"'


def number(value: str | float) -> str:
    """Return a coordinate with at most two decimals, or a text as it is.

    >>> number(12.5), number(3.0), number(0.333333)
    ('12.5', '3', '0.33')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
