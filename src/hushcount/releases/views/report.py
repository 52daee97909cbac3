"""A release as one HTML file that needs nothing else: for a manager, a lawyer, a regulator, and a program."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

from hushcount.files.atomic import Outputs
from hushcount.releases.key_list import KeyList
from hushcount.releases.oracle import Oracle
from hushcount.releases.release import Release
from hushcount.releases.stored.documents import content_plain, json_of
from hushcount.releases.tree import TreeRelease
from hushcount.releases.views import plots, report_facts, report_tree, report_words
from hushcount.releases.views.report_markup import Markup, document, element, in_script, joined
from hushcount.releases.views.report_table import ROWS, other_foot, table_of
from hushcount.releases.views.report_words import Reported
from hushcount.releases.views.words import empty_sentences

MOST_ROWS = 100_000  # in the block for programs
PRINTED = 40  # rows on paper, as in the style sheet
MOST_CELLS = 1_000_000  # of an oracle, the same


def prepare_report(release: Reported, path: str | os.PathLike[str], outputs: Outputs) -> None:
    """Write the report to a file that appears together with the others of `outputs`."""
    with outputs.file(path) as stream:
        stream.write(report_of(release).encode("utf-8", "replace"))


def report_of(release: Reported, written: datetime | None = None) -> str:
    """Return the report as HTML; `written` is its date, by default now."""
    title = report_words.title(release)
    return document(
        f"{title}: {_kind(release)}",
        "",
        *_sections(release, title, written or datetime.now(UTC)),
        data=element("script", in_script(_block(release)), type="application/json", id="release"),
    )


def _block(release: Reported) -> str:
    """Return the release for programs; of a longer table the first rows, of a large oracle all but cells."""
    if isinstance(release, Oracle):
        if release.cells.size <= MOST_CELLS:
            return json_of(release)
        return json.dumps({**content_plain(release), "cells": None}, ensure_ascii=False)
    if len(release) <= MOST_ROWS:
        return release.to_json()
    if isinstance(release, Release):
        return release.limit(MOST_ROWS).to_json()
    return replace(release, rows=release.rows.first(MOST_ROWS)).to_json()


def _sections(release: Reported, title: str, written: datetime) -> Iterator[Markup]:
    """Yield the parts of the page, from what a hurried reader needs to what a registry asks for."""
    yield from _banner(release)
    yield element(
        "header",
        element("p", _kind(release), class_="kicker"),
        element("h1", title),
        element("p", " · ".join(_published(release, written)), class_="meta"),
    )
    yield _section(
        "What is protected",
        element("p", " ".join(report_words.promise(release)), class_="promise"),
        *((_strip(release),) if report_words.is_private(release) else ()),
    )
    if not isinstance(release, Oracle):
        yield _pictures(release)
        yield _rows(release)
    yield _section("How to read the numbers", _list(_numbers(release)))
    yield _section("What is not shown, and why", _list(report_words.not_shown(release)))
    assumed = release.guarantee.assumed
    yield _section(
        "What this rests on",
        element("p", release.guarantee.statement()),
        element("p", "The guarantee assumes:" if assumed else "The guarantee assumes nothing further."),
        _list(f"{each}." for each in assumed),
        *_notes(release),
    )
    yield _section("Where it comes from", _facts(report_facts.origin(release, written)))
    yield _section(
        "For a registry of deployments",
        element("p", "The facts that a public registry of uses of differential privacy asks for."),
        _facts(report_facts.registry(release)),
    )


def _published(release: Reported, written: datetime) -> Iterator[str]:
    """Yield how much was published, of what if that has a name, and when."""
    yield f"{_extent(release)} published"
    if release.made is not None and release.made.source_name is not None:
        yield release.made.source_name
    yield f"{written.day} {written:%B %Y}"


def _extent(release: Reported) -> str:
    """Return how much was published, in words."""
    if isinstance(release, Oracle):
        return f"{release.cells.size:,} noisy cells"
    noun = "item" if report_words.is_local(release) else "key" if isinstance(release, Release) else "node"
    return f"{len(release):,} {noun if len(release) == 1 else f'{noun}s'}"


def _kind(release: Reported) -> str:
    private = report_words.is_private(release)
    return "Differentially private release" if private else f"{report_words.NOT_PRIVATE}: a test"


def _notes(release: Reported) -> Iterator[Markup]:
    """Yield the notes that no other section has."""
    further = [note for note in release.notes if note not in report_words.dropped(release)]
    if further:
        yield element("p", "Notes of the run:")
        yield _list(further)


def _banner(release: Reported) -> Iterator[Markup]:
    """Yield the warning of a release whose noise was not secret."""
    if not report_words.is_private(release):
        name = element("strong", report_words.NOT_PRIVATE)
        yield element("p", name, f" {report_words.NOBODY}", class_="banner", role="alert")


def _strip(release: Reported) -> Markup:
    """Return the few numbers that matter most."""
    guarantee = release.guarantee
    facts = [
        (guarantee.unit.name, "is the unit of protection"),
        (
            f"{guarantee.epsilon:g}",
            f"epsilon: odds change by a factor of at most {report_words.factor(guarantee)}",
        ),
        (f"{guarantee.delta:g}", f"delta: {_delta_words(guarantee.delta)}"),
    ]
    if isinstance(release, TreeRelease):
        facts.append((f"{release.threshold:,}", "is the smallest noisy residual that is published"))
    count = release.smallest_reliable() if isinstance(release, Release) else None
    if isinstance(release, Release) and count is not None:
        cut = "" if release.whole else ", before rows were cut"
        facts.append((f"{count:,}", f"{release.counted.noun}: a key of so many is published reliably{cut}"))
    facts += _answers(release) if isinstance(release, Oracle) else []
    pairs = (element("div", element("dt", value), element("dd", words)) for value, words in facts)
    return element("dl", *pairs, class_="strip")


def _answers(oracle: Oracle) -> list[tuple[str, str]]:
    """Return how far answers may be from the truth, unless the cells are too few to tell."""
    below, above = oracle.interval()
    if below is None or above is None:
        return []
    return [(f"{max(below, above):,}", "is the most that an answer is off by, with confidence 0.95")]


def _delta_words(delta: float) -> str:
    return f"what may come on top, {report_words.odds(delta)}" if delta else "nothing comes on top"


def _pictures(release: Release | TreeRelease) -> Markup:
    """Return the pictures of this kind of release."""
    if not isinstance(release, Release):
        words = element("p", report_tree.caption(release))
        walking = element("p", report_tree.WALKING, class_="walking")
        path = element("nav", element("ol"), aria_label="Path in the tree", id="path")
        return _section(
            "The tree", words, walking, path, report_tree.icicle_of(release), _live("icicle-said")
        )
    if isinstance(release, KeyList):
        return _section(
            "No counts", element("p", "Only keys are published, so there is no picture of counts.")
        )
    parts = [element("figure", plots.rank_plot(release), element("figcaption", _rank_caption(release)))]
    distribution = plots.reporting_distribution(release)
    if distribution is not None:
        parts += [
            element("h3", "How likely a key is to appear"),
            _reporting(release, plots.reporting_steps(distribution)),
            element("figure", plots.reporting_plot(distribution)),
        ]
    return _section("Counts by rank", *parts)


def _rank_caption(release: Release) -> str:
    """Return what the picture of the counts shows."""
    words = f"The line is the noisy count, the band the {100 * release.confidence:g}% interval of each key."
    if plots.smallest_published(release) is not None:
        words += " Keys whose noisy count is below the dashed line are left out."
    if (release.floor or 0) > 0 and not report_words.is_local(release):
        words += " The floor is what the sketch may have overcounted a key by, or left out of it."
    return words


def _reporting(release: Release, steps: list[tuple[int, float]]) -> Markup:
    rows = (
        element("tr", element("th", f"{count:,}", scope="row"), element("td", _probability(share)))
        for count, share in steps
    )
    head = element(
        "tr",
        element("th", f"true count ({release.counted.noun})", scope="col"),
        element("th", "probability", scope="col"),
    )
    return element("table", element("thead", head), element("tbody", *rows), class_="small")


def _probability(share: float) -> str:
    """Return a probability of two digits, never rounded up to certainty."""
    return f"{share:.2g}" if share < 0.995 or share == 1 else "over 0.99"


def _rows(release: Release | TreeRelease) -> Markup:
    """Return the table with what searches it and turns its pages."""
    if not len(release):
        first, *causes = empty_sentences(release)
        return _section("The table", element("p", first), _list(causes), *other_foot(release))
    tools = element(
        "div",
        element("label", "Search ", element("input", type="search", id="search", autocomplete="off")),
        element("button", "Save as JSON", type="button", id="save"),
        class_="tools",
    )
    turn = element(
        "div",
        element("button", f"Previous {ROWS:,}", type="button", id="previous"),
        element("button", f"Next {ROWS:,}", type="button", id="next"),
        class_="tools turn",
        hidden="",
    )
    frame = element("div", table_of(release), class_="scroll")
    return _section("The table", *_cut(release), tools, _live("said"), frame, turn, *other_foot(release))


def _cut(release: Release | TreeRelease) -> Iterator[Markup]:
    """Yield which rows the page does not hold, and which are not printed."""
    if len(release) > MOST_ROWS:
        yield element("p", f"The page holds the first {MOST_ROWS:,} rows of {len(release):,}.")
    if len(release) > PRINTED:
        yield element("p", f"The first {PRINTED} rows are printed; the file has more.", class_="printed")


def _live(name: str) -> Markup:
    """Return the line that says what has changed, aloud for those who cannot see it."""
    return element("p", role="status", id=name, class_="said")


def _numbers(release: Reported) -> tuple[str, ...]:
    """Return what the numbers are, and how far they may be off."""
    meaning = () if isinstance(release, Oracle) else report_words.counting(release)
    return tuple(dict.fromkeys((*meaning, *report_facts.accuracy_of(release))))


def _section(title: str, *parts: Markup) -> Markup:
    return element("section", element("h2", title), *parts)


def _list(sentences: Iterable[str]) -> Markup:
    items = [element("li", sentence.removeprefix("- ")) for sentence in sentences]
    return element("ul", *items) if items else joined(())


def _facts(facts: Iterator[report_facts.Fact]) -> Markup:
    pairs = (element("div", element("dt", name), element("dd", words)) for name, words in facts)
    return element("dl", *pairs, class_="facts")
