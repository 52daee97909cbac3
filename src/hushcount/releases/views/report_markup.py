"""HTML and SVG whose texts are escaped by construction: only `element` and `trusted` make markup."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from html import escape
from importlib import resources

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


def document(title: str, more_style: str, *main: Markup, data: Markup | None = None) -> str:
    """Return a page that needs nothing else and may load nothing.

    Parameters
    ----------
    title : str
        Its title.
    more_style : str
        Rules of its own, after those of all pages.
    *main : Markup
        What it shows.
    data : Markup, optional
        The block for programs, which the script of a release reads; without one there is no script.
    """
    style, script = _file("report.css") + more_style, _file("report.js")
    allowed = "'none'" if data is None else f"'{_digest(script)}'"
    rules = f"default-src 'none'; style-src '{_digest(style)}'; script-src {allowed}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=rules),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content="hushcount"),
        element("title", title),
        element("style", trusted(style)),
    )
    scripts = () if data is None else (data, element("script", trusted(script)))
    body = element("body", element("main", *main), *scripts)
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _file(name: str) -> str:
    """Return a file that is part of every report."""
    return resources.files(__package__).joinpath("report_assets", name).read_text("utf-8")


def _digest(text: str) -> str:
    """Return the digest by which the page allows its own style and script, and no other."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
