import io
import json

import pyarrow as pa
import pytest
from rich.console import Console
from tests.releases import FixedError, release_of

import hushcount as hc
from hushcount.releases.accuracy import Counted
from hushcount.releases.views.tables import bar, rich_table, tsv, tsv_of, visible, visible_json


def printed(release, rows=None, width=80):
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(rich_table(release, rows, width))
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


@pytest.mark.parametrize("width", [80, 58, 46])
def test_a_narrow_table_has_no_bars_and_shorter_keys(width):
    release = release_of([("a rather long key " * 3, 1234567), ("b", 3)])
    lines = printed(release, width=width)
    assert max(map(len, lines)) <= width
    assert "1,234,562 … 1,234,569" in lines[2]
    assert ("█" in lines[2]) == (width == 80)


def test_the_title_says_that_not_all_users_count():
    users = release_of([("a", 10)]).counting(Counted("users", "count is the number of users who kept it."))
    assert printed(users)[0].split("   ")[2].strip() == "count (users kept)"


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
    lines = "".join(tsv(release_of([("a\tb", 10), ("c\\t\n", 7)]))).split("\n")[:-1]
    assert lines == ["key\tcount\tlower\tupper", "a\\tb\t10\t5\t12", "c\\\\t\\n\t7\t2\t9"]
    assert list(tsv(release_of([("a", 10)], FixedError(above=None))))[1] == "a\t10\t5\t\n"


def test_tsv_comes_in_blocks_of_many_lines():
    blocks = list(tsv(release_of([(f"key{i}", 10) for i in range(5000)])))
    assert [block.count("\n") for block in blocks] == [1, 4096, 904]


def test_nothing_in_tsv_reaches_a_terminal():
    release = release_of([("\x1b[2J\u202e", 10)])
    assert "".join(tsv(release)).splitlines()[1] == "\x1b[2J\u202e\t10\t5\t12"
    assert "".join(tsv(release, terminal=True)).splitlines()[1] == "\\x1b[2J\\u202e\t10\t5\t12"


def test_json_on_a_terminal_has_the_same_values():
    line = json.dumps({"key": "é\x9b2J\u202e🙂\U000e0001", "plain": "a b"}, ensure_ascii=False) + "\n"
    shown = visible_json(line)
    assert json.loads(shown) == json.loads(line)
    assert shown == '{"key": "é\\u009b2J\\u202e🙂\\udb40\\udc01", "plain": "a b"}\n'


def test_bar():
    assert bar(0, 10) == bar(5, 0) == bar(-3, 10) == ""
    assert bar(10, 10, 4) == "████"
    assert bar(1, 64, 4) == "▏"
    assert bar(1, 8, 4) == "▌"


def test_whole_estimates_are_shown_whole():
    """25 is 25, not 25.0, on a terminal and in tab-separated text; others keep their fraction."""
    table = pa.table({"key": ["tea", "milk"], "estimate": [25.0, 26.5]})
    assert "".join(tsv_of(table)) == "key\testimate\ntea\t25\nmilk\t26.5\n"
    with hc.testing.seeded(3):
        sampled = hc.sample(["tea"] * 5000, rate=1.0, epsilon=1.0, delta=1e-6)
    assert str(sampled.table["estimate"].to_pylist()[0]).endswith(".0")
    shown = str(sampled).splitlines()[-1]
    assert shown.split()[-1] == shown.split()[2]  # of a key that is surely published
