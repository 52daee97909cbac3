"""Work is bounded before it starts: a manifest that asks for too much is refused by a public number."""

from dataclasses import replace

import pytest

from hushcount import ldp
from hushcount.errors import ManifestError
from hushcount.ldp import registry
from hushcount.ldp.server.decoding import MOST_CELLS, MOST_LISTED, MOST_LOOKUPS, MOST_TABLES, check_work
from hushcount.ldp.wire.groups import ALL_SHARES
from hushcount.ldp.wire.questions import Chunk, Prefix, TaggedPrefix

SMALL = {"epsilon": 1.0, "users": 1000}
WIDE = [
    ldp.Bytes(100),
    ldp.Integers(1024),
    ldp.Integers(252),
    ldp.Words("ab", 512),
    ldp.Categories(("a", "b")),
]


def asking(protocol, width, *questions):
    """A manifest of a protocol that asks other questions, at equal shares."""
    manifest = registry.CAMPAIGNS[protocol](ldp.Integers(width), **SMALL).manifest
    share = ALL_SHARES // len(questions)
    shares = (*[share] * (len(questions) - 1), ALL_SHARES - share * (len(questions) - 1))
    group = replace(manifest.groups[0], questions=questions, shares=shares, symbol_bits=1)
    return replace(manifest, groups=(group,))


@pytest.mark.parametrize(
    ("manifest", "needed", "what", "most"),
    [
        (asking("tree_hist", 28, Prefix(28, 1, 28)), 1 << 28, "cells", MOST_CELLS),
        (asking("hashtogram", 28, Prefix(28, 1 << 16, 12)), 1 << 28, "cells", MOST_CELLS),
        (
            asking("bitstogram", 40, Chunk(14, 14, 13, 1, 14), Chunk(14, 27, 13, 1, 14), Prefix(40, 16, 18)),
            (2 << 27) + (16 << 18),
            "cells",
            MOST_CELLS,
        ),
        (asking("tree_hist", 27, Prefix(27, 1, 27)), 1 << 27, "candidates at once", MOST_LISTED),
        (asking("tree_hist", 25, Prefix(25, 16, 23)), 1 << 25, "candidates at once", MOST_LISTED),
        (asking("tree_hist", 20, Prefix(20, 1 << 16, 1), *[Prefix(20, 1 << 16, 1)] * 2), None, "", 0),
        (asking("hashtogram", 20, Prefix(20, 65535, 2)), 65535 << 20, "lookups of cells", MOST_LOOKUPS),
        (
            asking("tree_hist", 60, TaggedPrefix(15, 9, 4, 16), Prefix(60, 4, 18)),
            None,
            "lookups of cells",
            MOST_LOOKUPS,
        ),
        (
            asking("tree_hist", 200, Prefix(200, 4, 18)),
            (1 << 200) * 5,
            "lookups of cells",
            MOST_LOOKUPS,
        ),
    ],
)
def test_too_much_is_refused(manifest, needed, what, most):
    with pytest.raises(ManifestError) as caught:
        ldp.Aggregator(manifest)
    text = f"the manifest asks the collector for {needed or 0:,} {what}, and at most {most:,} are allowed."
    if needed is None and not what:
        assert "the questions of tree_hist" in str(caught.value)
    elif needed is None:
        assert str(caught.value).endswith(f" {what}, and at most {most:,} are allowed.")
    else:
        assert str(caught.value) == text


def test_tables_are_bounded_too(monkeypatch):
    manifest = registry.CAMPAIGNS["tree_hist_paper"](ldp.Integers(500), **SMALL, cell_bits=1).manifest
    with pytest.raises(ManifestError) as caught:
        check_work(manifest)
    assert str(caught.value) == (
        f"the manifest asks the collector for 142,785 tables, and at most {MOST_TABLES:,} are allowed."
    )


@pytest.mark.parametrize("encoding", WIDE, ids=lambda encoding: f"{encoding.width} bits")
def test_every_planned_campaign_is_allowed(encoding):
    check_work(ldp.TreeHist(encoding, **SMALL).manifest)
    if encoding.width <= 246:
        check_work(ldp.BitstogramBinary(encoding, **SMALL).manifest)
    if encoding.width <= 252:
        check_work(ldp.Bitstogram(encoding, **SMALL).manifest)
