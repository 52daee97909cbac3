"""Rows of any length are read in bounded memory; one that is too long has no key, whatever lies around it."""

import gzip
import json
import random
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from hushcount.errors import DataError
from hushcount.keys.plain import KeyLimit
from hushcount.sources.formats import text as rows
from hushcount.sources.open import open_source


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def keys_of(path, column="url", **options):
    source = open_source(path, column=column, **options)
    return [key for batch in source.batches() for key in batch.keys.to_pylist()]


LONG = "x" * (rows.LONGEST_ROW + 1)
TEXTS = {
    "a.csv": "url,text\na,1\n{}\nb,2\n",
    "a.tsv": "url\ttext\na\t1\n{}\nb\t2\n",
    "a.jsonl": '{{"url": "a"}}\n{}\n{{"url": "b"}}\n',
    "a.txt": "a\n{}\nb\n",
}
ROWS = {
    "a.csv": [f"c,{LONG}", f'c,"{LONG}\n{LONG}"', f"{LONG},c", f'"{LONG}""{LONG},\r\n",c'],
    "a.tsv": [f"c\t{LONG}", f'c\t"{LONG}\n{LONG}"'],
    "a.jsonl": [json.dumps({"url": "c", "text": LONG}), json.dumps({"url": LONG})],
    "a.txt": [LONG, LONG * 70],
}


@pytest.mark.parametrize(("name", "row"), [(name, row) for name, found in ROWS.items() for row in found])
def test_a_row_that_is_too_long_is_dropped_or_stops_the_run(name, row):
    column = None if name == "a.txt" else "url"
    text = TEXTS[name].format(row).encode()
    Path(name).write_bytes(text)
    Path(f"{name}.gz").write_bytes(gzip.compress(text, 1))
    for path in (name, f"{name}.gz"):
        assert keys_of(path, column) == ["a", "b"]
        with pytest.raises(DataError) as caught:
            keys_of(path, column, limit=KeyLimit(on_bad="fail"))
        assert str(caught.value) == "A key is longer than 4096 bytes; shorten or hash such keys first."


def test_the_longest_row_is_read_wherever_it_begins():
    for before in (0, 1, 1000, rows.BLOCK // 2, rows.BLOCK - 30):
        lead = "".join(f"a,{'y' * min(5000, before - start)}\n" for start in range(0, before, 5000))
        for length, kept in ((rows.LONGEST_ROW, ["c"]), (rows.LONGEST_ROW + 1, [])):
            row = f"c,{'x' * (length - 3)}\n"
            Path("a.csv").write_text(f"url,text\n{lead}{row}b,1\n")
            assert [key for key in keys_of("a.csv") if key != "a"] == [*kept, "b"]


def test_users_and_several_columns_go_with_their_row():
    Path("a.csv").write_text(f"url,text,user\na,1,u\nc,{LONG},v\nb,2,w\n")
    assert [pair["key"] for pair in keys_of("a.csv", user="user")] == ["a", "b"]
    assert len(keys_of("a.csv", ["url", "user"])) == 2
    assert len(keys_of("a.csv", ["url", "user"], padded=True)) == 2


def plain_ends(text):
    """Where rows end, by the rules of pyarrow's parser, slowly."""
    ends, quoted, start, place = [], False, True, 0
    while place < len(text):
        byte = text[place]
        place += 1
        if quoted:
            if byte == '"' and text[place : place + 1] == '"':
                place += 1
            elif byte == '"':
                quoted = start = False
            continue
        quoted, start = (byte == '"' and start), byte in ",\n\r"
        if byte in "\n\r":
            ends.append(place)
    return ends


@pytest.mark.parametrize("seed", range(40))
def test_the_ends_of_rows_in_blocks_of_any_size(seed):
    draw = random.Random(seed)
    text = "".join(draw.choices('ab",\n\r', weights=(4, 2, draw.choice((0, 1, 3)), 2, 1, 1), k=300))
    finder, found, start = rows.QuotedRows(","), set(), 0
    while start < len(text):
        block = text[start : start + draw.randint(1, 9)]
        first, last = finder(block.encode())
        assert bool(first) == bool(last)
        found |= {start + end for end in (first, last) if end}
        start += len(block)
    assert found <= set(plain_ends(text))
    assert max(found, default=0) == max(plain_ends(text), default=0)


@pytest.mark.parametrize("seed", range(20))
def test_blocks_hold_whole_rows_and_all_of_them(seed, monkeypatch):
    draw = random.Random(seed)
    monkeypatch.setattr(rows, "LONGEST_ROW", 40)
    monkeypatch.setattr(rows, "BLOCK", draw.randint(1, 40))
    text = "".join(draw.choices('ab",\n', weights=(9, 9, 1, 2, 2), k=3000))
    ends = [0, *plain_ends(text), len(text)]
    whole = [text[start:stop] for start, stop in pairwise(ends)]
    blocks = list(rows.whole_rows(pa.BufferReader(text.encode()), rows.QuotedRows(","), b"?\n"))
    assert b"".join(blocks).decode() == "".join(row if len(row) <= 40 else "?\n" for row in whole)
    assert any(len(row) > 40 for row in whole)
    assert all(block.endswith(b"\n") for block in blocks[:-1])
