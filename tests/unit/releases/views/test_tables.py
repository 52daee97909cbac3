import io

import pyarrow as pa
import pytest
from rich.console import Console
from tests.releases import FixedError, release_of

from hushcount.releases.views.tables import bar, rich_table, tsv, visible
from hushcount.releases.views.words import accuracy_sentences, headline, privacy_sentences


def printed(release, rows=None, width=80):
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(rich_table(release, rows))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_table():
    lines = printed(release_of([("tea", 12345), ("milk", 6000), ("[red]salt", 3)]))
    assert lines == [
        "#   key          count      95% interval",
        "─" * 63,
        "1   tea         12,345   12,340 … 12,347   ████████████████████",
        "2   milk         6,000     5,995 … 6,002   █████████▊",
        "3   [red]salt        3             0 … 5   ▏",
    ]


def test_rows_are_cut():
    lines = printed(release_of([(f"key{i}", 100 - i) for i in range(9)]), rows=2)
    assert len(lines) == 4


def test_open_interval():
    assert "from 5" in printed(release_of([("a", 10)], FixedError(above=None)))[2]


def test_long_keys_leave_room_for_numbers():
    lines = printed(release_of([("long " * 50, 10)]))
    assert "…" in lines[2]
    assert "5 … 12" in lines[2]
    assert max(map(len, lines)) <= 80


def test_empty_table():
    assert len(printed(release_of([], kind=pa.string()))) == 2


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("plain é 漢字 🙂", "plain é 漢字 🙂"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\tb\nc\rd", "a\\tb\\nc\\rd"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u200b\ufeff", "\\u200b\\ufeff"),
        ("\x9b31m", "\\x9b31m"),
        ("\u2028", "\\u2028"),
        (b"\xff\x00", "\\xff\\x00"),
        (7, "7"),
        (None, ""),
    ],
)
def test_nothing_in_a_key_reaches_the_terminal(key, shown):
    assert visible(key) == shown


def test_tsv():
    lines = list(tsv(release_of([("a\tb", 10), ("c\\t\n", 7)])))
    assert lines == ["key\tcount\tlower\tupper", "a\\tb\t10\t5\t12", "c\\\\t\\n\t7\t2\t9"]
    assert list(tsv(release_of([("a", 10)], FixedError(above=None))))[1] == "a\t10\t5\t"


def test_bar():
    assert bar(0, 10) == bar(5, 0) == bar(-3, 10) == ""
    assert bar(10, 10, 4) == "████"
    assert bar(1, 64, 4) == "▏"
    assert bar(1, 8, 4) == "▌"


def test_words():
    release = release_of([("a", 10)])
    assert headline(release.guarantee.unit) == "Protects one event, not one person."
    assert privacy_sentences(release) == (
        release.guarantee.statement(),
        "Assumes: a; b.",
        "Proof: docs/proofs/counters/floor.md.",
    )
    assert accuracy_sentences(release) == (
        "True with confidence 0.95.",
        "For all published keys at once: between count - 9 and count + 8.",
    )
    one_sided = release_of([("a", 10)], FixedError(above=None, together=(9, None)))
    assert accuracy_sentences(one_sided)[1] == "For all published keys at once: at least count - 9."
    assert len(accuracy_sentences(release_of([("a", 10)], FixedError(together=None)))) == 1
