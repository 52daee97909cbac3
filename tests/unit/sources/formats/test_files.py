"""Every format gives the rows in order, whole or from any position on."""

import gzip
import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc

from hushcount import privacy
from hushcount.errors import DataError, ParameterError
from hushcount.sources.open import open_source
from hushcount.sources.source import Batch

KEYS = [None if i % 97 == 0 else f"k{i * 7919 % 1000}é" for i in range(3000)]
TABLE = pa.table({"n": list(range(3000)), "url": pa.array(KEYS, pa.string()), "t": ["x, y"] * 3000})
WANTED = [key for key in KEYS if key is not None]


def csv_text(delimiter=","):
    rows = [f'{n}{delimiter}{key or ""}{delimiter}"x, y"' for n, key in enumerate(KEYS)]
    return "\n".join([f"n{delimiter}url{delimiter}t", *rows, ""]).encode()


def json_text():
    rows = [{"n": n, "url": key} if key or n % 2 else {"n": n} for n, key in enumerate(KEYS)]
    return "".join(json.dumps(row, ensure_ascii=n % 3 == 0) + "\n" for n, row in enumerate(rows)).encode()


def zstd(data):
    return pa.compress(data, codec="zstd", asbytes=True)


def parquet_bytes(**options):
    sink = io.BytesIO()
    pq.write_table(TABLE, sink, row_group_size=700, **options)
    return sink.getvalue()


def arrow_bytes(new):
    sink = io.BytesIO()
    with new(sink, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=450)
    return sink.getvalue()


LINES = "\n".join(key or "" for key in KEYS).encode()
FILES = {
    "a.csv": csv_text(),
    "a.csv.gz": gzip.compress(csv_text()),
    "a.csv.zst": zstd(csv_text()),
    "a.tsv": csv_text("\t"),
    "a.TSV.GZ": gzip.compress(csv_text("\t")[:5000]) + gzip.compress(csv_text("\t")[5000:]),
    "a.jsonl": json_text(),
    "a.ndjson.gz": gzip.compress(json_text()),
    "a.jsonl.zst": zstd(json_text()),
    "a.parquet": parquet_bytes(use_dictionary=False),
    "dictionary.parquet": parquet_bytes(),
    "a.arrow": arrow_bytes(ipc.new_file),
    "a.feather": arrow_bytes(ipc.new_file),
    "a.arrows": arrow_bytes(ipc.new_stream),
    "stream.arrow": arrow_bytes(ipc.new_stream),
    "it's [1]*.jsonl": json_text(),
    "it's [1]*.csv": csv_text(),
}


def keys_of(source, skip=0):
    found = list(source.batches(skip))
    assert all(batch.keys.null_count == 0 and isinstance(batch.keys, pa.Array) for batch in found)
    return [key for batch in found for key in batch.keys.to_pylist()], sum(batch.rows for batch in found)


@pytest.mark.parametrize("name", FILES)
def test_rows_in_order(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(FILES[name])
    source = open_source(path, column="url")
    assert keys_of(source) == (WANTED, 3000)
    assert keys_of(source) == (WANTED, 3000)
    assert source.size == len(FILES[name])
    assert source.unit is privacy.EVENT
    assert source.key_names == ("key",)
    assert list(source.state.values()) == [str(os.stat(path).st_ctime_ns)]
    assert source.notes == ("Null keys are dropped.", "Keys longer than 4096 bytes are dropped.")
    assert source.decode(pa.array(["b", "a"])).to_pydict() == {"key": ["b", "a"]}


@pytest.mark.parametrize("name", FILES)
def test_skip_rows(tmp_path, monkeypatch, name):
    monkeypatch.setattr("hushcount.sources.formats.columnar.BATCH_ROWS", 333)
    monkeypatch.setattr("hushcount.sources.formats.text.BLOCK", 4096)
    path = tmp_path / name
    path.write_bytes(FILES[name])
    source = open_source(str(path), column="url")
    for skip in (0, 1, 332, 333, 334, 449, 450, 699, 700, 701, 1400, 2101, 2999, 3000, 4000):
        wanted = [key for key in KEYS[skip:] if key is not None]
        assert keys_of(source, skip) == (wanted, max(3000 - skip, 0))


def test_continue_after_any_batch(tmp_path, monkeypatch):
    monkeypatch.setattr("hushcount.sources.formats.columnar.BATCH_ROWS", 251)
    folder = tmp_path / "parts"
    for part in range(3):
        (folder / f"day={part}").mkdir(parents=True)
        pq.write_table(
            TABLE, folder / f"day={part}" / "x.parquet", row_group_size=700, use_dictionary=part == 1
        )
    source = open_source(folder, column="url")
    found = list(source.batches())
    read = [batch.bytes_read for batch in found]
    assert read == sorted(read)
    assert read[-1] == source.size
    rows = 0
    for index, batch in enumerate(found):
        rest = [key for later in found[index:] for key in later.keys.to_pylist()]
        assert keys_of(source, rows)[0] == rest
        rows += batch.rows


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl", "a.jsonl.zst", "a.parquet", "a.arrow"])
def test_progress_reaches_the_end(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(FILES[name])
    source = open_source(path, column="url")
    read = [batch.bytes_read for batch in source.batches()]
    assert all(0 <= value <= source.size for value in read)
    assert read[-1] >= 0.9 * source.size


def test_dictionary_encoded_text_stays_so(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"url": WANTED * 20}), path)

    def kinds():
        source = open_source(path, column="url")
        return {piece.columns[0].type for piece in source.reader.pieces(source.files[0], ("url",), 0)}

    assert kinds() == {pa.dictionary(pa.int32(), pa.string())}
    pq.write_table(pa.table({"url": [f"distinct-{i}" for i in range(5000)]}), path)
    assert kinds() == {pa.string()}


def test_lines(tmp_path, monkeypatch):
    path = tmp_path / "keys.txt"
    for block in (7, 100, 1 << 20):
        monkeypatch.setattr("hushcount.sources.formats.text.BLOCK", block)
        for end in (b"", b"\n"):
            path.write_bytes(LINES + end)
            source = open_source(path, format="lines")
            assert keys_of(source) == (WANTED, 3000)
            assert keys_of(source, 1234) == ([key for key in KEYS[1234:] if key], 3000 - 1234)
    path.write_bytes(b'\xef\xbb\xbfa,1\r\n\r\n  b\r\n"c\r\n')
    assert keys_of(open_source(path, format="lines")) == (["a,1", "  b", '"c'], 4)


def test_folders_and_globs_in_path_order(tmp_path):
    for name, text in {
        "b.csv": "b",
        "a/z.csv": "a",
        "c.csv.gz": "c",
        "empty.csv": "",
        "_x.csv": "no",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        content = f"url,n\n{text},1\n".encode() if text else b""
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    (tmp_path / "README.md").write_text("not data")
    assert keys_of(open_source(tmp_path, column="url"))[0] == ["a", "b", "c"]
    assert keys_of(open_source(f"{tmp_path}/*.csv", column="url"))[0] == ["no", "b"]
    assert keys_of(open_source(f"{tmp_path}/**/*.csv*", column="url"))[0] == ["no", "a", "b", "c"]


def test_one_format_of_a_folder(tmp_path):
    (tmp_path / "a.csv").write_text("url\na\n")
    (tmp_path / "b.jsonl").write_text('{"url": "b"}\n')
    assert keys_of(open_source(tmp_path, column="url", format="jsonl"))[0] == ["b"]


def test_csv_nulls_and_quotes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(
        b'\xef\xbb\xbfurl,n\r\n"a\nb",1\r\n"",2\r\n,3\r\nNA,4\r\nnull,5\r\n"say ""hi""",6\r\n 7,7\r\n'
    )
    assert keys_of(open_source(path, column="url"))[0] == ["a\nb", "", "NA", "null", 'say "hi"', " 7"]
    assert keys_of(open_source(path, column="n"))[0] == list("1234567")
    ints = open_source(path, column="n", key_type="int")
    assert [batch.keys for batch in ints.batches()] == [pa.array(range(1, 8), pa.int64())]


def test_json_values_are_text(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"a": 5}\n{"a": true}\n{"a": "5"}\n{"a": 123456789012345678901}\n{"b": 1}\n{"a": null}\n{"a": ""}\n'
    )
    assert keys_of(open_source(path, column="a"))[0] == ["5", "true", "5", "123456789012345678901", ""]
    assert keys_of(open_source(path, column="b", key_type="int"))[0] == [1]


def test_header_without_rows(tmp_path):
    (tmp_path / "a.csv").write_text("url,n\n")
    assert keys_of(open_source(tmp_path / "a.csv", column="url")) == ([], 0)
    pq.write_table(TABLE.slice(0, 0), tmp_path / "a.parquet")
    assert keys_of(open_source(tmp_path / "a.parquet", column="url")) == ([], 0)


def test_fingerprint_changes_with_the_source(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("url,n\na,1\n")
    first = open_source(path, column="url").fingerprint
    assert first == open_source(os.path.relpath(path), column="url").fingerprint
    others = [open_source(path, column="n"), open_source(path, column="url", key_type="text")]
    path.write_text("url,n\nb,11\n")
    others.append(open_source(path, column="url"))
    assert len({first, *(other.fingerprint for other in others)}) == 4


STDIN = {"csv": "a.csv", "tsv": "a.tsv", "jsonl": "a.jsonl", "parquet": "a.parquet", "arrow": "a.arrow"}


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        *((kind, FILES[name]) for kind, name in STDIN.items()),
        ("arrow", FILES["a.arrows"]),
        ("lines", LINES),
    ],
)
def test_standard_input(kind, data):
    column = None if kind == "lines" else "url"
    program = (
        "import sys; from hushcount.sources.open import open_source;"
        f"source = open_source('-', column={column!r}, format={kind!r}); assert source.fingerprint == '';"
        "[print(key) for batch in source.batches() for key in batch.keys.to_pylist()]"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=data,
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    assert done.stdout.decode().splitlines() == WANTED


@pytest.mark.parametrize("kind", ["csv", "jsonl", "lines", "parquet", "arrow"])
def test_standard_input_without_a_descriptor(monkeypatch, kind):
    data = LINES if kind == "lines" else FILES[STDIN[kind]]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    column = None if kind == "lines" else "url"
    assert keys_of(open_source("-", column=column, format=kind))[0] == WANTED


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_named_pipe(tmp_path, kind):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(FILES[f"a.{kind}"],))
    writer.start()
    assert keys_of(open_source(pipe, column="url", format=kind))[0] == WANTED
    writer.join()


def test_batch_is_a_value():
    batch = Batch(pa.array([1]), 1, 0)
    with pytest.raises(AttributeError):
        batch.rows = 2


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("d")
    Path("d/a.csv").write_text("url\na\n")
    Path("d/b.csv").write_text("url\nb\n")


def keys(path, **options):
    source = open_source(path, **{"column": "url", **options})
    return [key for batch in source.batches() for key in batch.keys.to_pylist()]


def refusal(path, kind=DataError, **options):
    with pytest.raises(kind) as caught:
        keys(path, **options)
    assert caught.value.__context__ is None
    return str(caught.value)


@pytest.mark.parametrize("path", ["d", "d/*.csv", "d/**/*.csv"])
def test_links_to_one_file_count_once(folder, path):
    os.symlink("a.csv", "d/soft.csv")
    os.link("d/a.csv", "d/hard.csv")
    os.mkdir("d/deep")
    os.link("d/b.csv", "d/deep/c.csv")
    assert sorted(keys(path)) == ["a", "b"]


def test_the_first_name_gives_the_order(folder):
    os.link("d/b.csv", "d/0.csv")
    assert keys("d") == ["b", "a"]


@pytest.mark.parametrize("target", [".", "..", "../d"])
def test_a_cycle_of_links_is_refused(folder, target):
    """Two of them would be walked for ever."""
    os.symlink(target, "d/loop")
    os.symlink(target, "d/loop2")
    for path in ("d/**/*.csv", "**/*.csv"):
        assert refusal(path).endswith(
            " is a link to a folder above it, so files would count many times;"
            " remove the link or name the files otherwise."
        )
    assert keys("d") == ["a", "b"]


def test_a_link_to_another_folder_is_followed_by_a_pattern(folder):
    os.mkdir("store")
    Path("store/c.csv").write_text("url\nc\n")
    os.symlink("../store", "d/more")
    assert keys("d/**/*.csv") == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["a.log", "a.txt", "A.LOG"])
def test_logs_and_text_are_lines(folder, name):
    Path(name).write_text("url\na\n")
    assert keys(name, column=None) == ["url", "a"]
    refused = "Lines of text have no columns, so --format lines takes no --column."
    assert refusal(name, ParameterError) == refused
    assert refusal("d/a.csv", ParameterError, format="lines") == refused


def test_notes_beside_the_data_are_left_out(folder):
    Path("d/readme.txt").write_text("about these files\n")
    assert keys("d") == ["a", "b"]


def test_a_name_of_other_bytes_is_refused(folder):
    name = os.fsdecode(b"caf\xe9.csv")
    Path(name).write_text("url\na\n")
    assert refusal(name) == "'caf\\udce9.csv' is a file name that is not valid UTF-8; rename the file."
