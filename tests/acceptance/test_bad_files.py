"""Bad input gets one sentence that quotes nothing of the data, and nothing is chained to it."""

import gzip
import os
import shutil
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushcount.errors import DataError, ParameterError
from hushcount.files import failures
from hushcount.keys.plain import KeyLimit
from hushcount.sources.open import open_source

FORMATS = "lines, csv, tsv, jsonl, parquet, arrow, combined, common"


def refusal(path, kind=DataError, **arguments):
    """The sentence, which must be all there is."""
    with pytest.raises(kind) as caught:
        list(open_source(path, **{"column": "url", **arguments}).batches())
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert "secret" not in str(caught.value)
    assert all(thread.name != "hushcount-read-ahead" for thread in threading.enumerate())
    return str(caught.value)


@pytest.fixture
def put(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        (tmp_path / name).write_bytes(content)
        return name

    return write


def parquet_bytes():
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"url": [f"secret{i}" for i in range(9000)], "x": [0.5] * 9000}), sink)
    return sink.getvalue().to_pybytes()


def test_missing(put):
    assert refusal("none.csv") == "none.csv does not exist."
    assert refusal("none/none.csv") == "none/none.csv does not exist."
    assert refusal("no*.csv") == "No file matches no*.csv."
    os.symlink("nowhere.csv", "dangling.csv")
    assert refusal("dangling.csv") == "dangling.csv does not exist."


def test_formats(put):
    unknown = f"is not known by its ending; name it with --format ({FORMATS})."
    assert refusal(put("a.xyz", b"secret"), ParameterError) == f"The format of a.xyz {unknown}"
    assert refusal(put("a.gz", b"secret"), ParameterError) == f"The format of a.gz {unknown}"
    assert refusal("a.xyz", ParameterError, format="xml") == f"format must be one of {FORMATS}, got xml."
    assert refusal("-", ParameterError) == f"Standard input needs --format, one of {FORMATS}."
    assert refusal("a.*", ParameterError) == f"The format of a.* {unknown}"


def test_folders(put):
    os.mkdir("d")
    assert refusal("d") == "Folder d has no data files."
    put("d/_SUCCESS", b"")
    assert refusal("d") == "Folder d has no data files."
    put("d/a.csv", b"url\n")
    put("d/b.jsonl", b"")
    text = "d has files of several formats (csv, jsonl); name one with --format."
    assert refusal("d", ParameterError) == text


def test_empty(put):
    for name in ("a.csv", "a.tsv", "a.jsonl", "a.parquet", "a.arrow"):
        assert refusal(put(name, b"")) == f"{name} is empty."
    assert refusal(put("blank.csv", b"\n\n")) == "blank.csv is empty."
    assert refusal(put("a.csv.gz", gzip.compress(b""))) == "a.csv.gz is empty."
    os.mkdir("d")
    put("d/a.csv", b"")
    put("d/b.csv", b"")
    assert refusal("d") == "d is empty."
    put("d/a.parquet", b"")
    put("d/b.parquet", parquet_bytes())
    assert refusal("d", format="parquet") == "d/a.parquet is empty."


def test_columns(put):
    put("a.csv", b"url,time\nsecret,1\n")
    text = "Column 'usr' is not in the file; it has: url, time."
    assert refusal("a.csv", ParameterError, column="usr") == text
    assert refusal("a.csv", ParameterError, column=["url", "usr"]) == text
    assert refusal("a.csv", ParameterError, column=None) == "column must be named; the file has: url, time."
    put("twice.csv", b"url,url\nsecret,1\n")
    assert refusal("twice.csv", ParameterError) == "Column 'url' occurs more than once in the file."
    put("wide.csv", b",".join(b"c%d" % i for i in range(30)) + b"\n")
    shown = ", ".join(f"c{i}" for i in range(20))
    assert refusal("wide.csv", ParameterError) == f"Column 'url' is not in the file; it has: {shown}, ...."
    put("a.jsonl", b'{"secret": 1}\n')
    assert refusal("a.jsonl", ParameterError, column=None) == "column must be named for JSON lines."
    said = "so nothing was released; this message itself reveals that, outside the guarantee."
    end = f"no row of the file, {said}"
    assert refusal("a.jsonl") == f"Column 'url' is in {end}"
    assert refusal("a.jsonl", column=["url", "b"]) == f"Columns 'url', 'b' are together in {end}"


def test_parquet(put):
    whole = parquet_bytes()
    defect = "is not a whole Parquet file (damaged, truncated or of another format)."
    for name, content in {
        "truncated.parquet": whole[:-100],
        "short.parquet": whole[:3],
        "other.parquet": b"url\nsecret\n" * 10,
        "hole.parquet": whole[:20] + bytes(5000) + whole[5020:],
    }.items():
        assert refusal(put(name, content)) == f"{name} {defect}"
    floats = "Column 'x' holds floating point numbers; bin or round them to whole numbers first."
    assert refusal(put("a.parquet", whole), column="x") == floats
    sentence = "Column 'url' has values that are not whole numbers (type int)."
    assert refusal("a.parquet", key_type="int") == sentence


def test_arrow(put):
    defect = "is not a whole Arrow file or stream (damaged, truncated or of another format)."
    table = pa.table({"url": [f"secret{i}" for i in range(9000)]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    whole = sink.getvalue().to_pybytes()
    assert refusal(put("a.arrow", whole[:-50])) == f"a.arrow {defect}"
    assert refusal(put("b.arrow", b"secret" * 20)) == f"b.arrow {defect}"
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    assert refusal(put("c.arrow", sink.getvalue().to_pybytes()[:5000])) == f"c.arrow {defect}"


def test_csv(put):
    rows = b"".join(b"secret%d,1\n" % i for i in range(1000))
    assert (
        refusal(put("a.csv", b"url,n\n" + rows + b"secret\n"))
        == "a.csv has rows that are not well-formed CSV."
    )
    assert refusal(put("a.tsv", b"url\tn\nsecret\n")) == "a.tsv has rows that are not well-formed TSV."
    late = b"url,n\n" + rows * 200 + b"secret,1,2\n" + rows
    assert refusal(put("late.csv", late)) == "late.csv has rows that are not well-formed CSV."
    assert refusal(put("u.csv", b"url,n\nsecret\xff,1\n")) == "u.csv has text that is not valid UTF-8."
    text = "Column 'url' has values that are not whole numbers (type int)."
    assert refusal(put("i.csv", b"url,n\n1,1\nsecret,1\n"), key_type="int") == text


def test_compressed(put):
    whole = gzip.compress(b"url,n\n" + b"".join(b"secret%d,1\n" % (i * i) for i in range(90000)))
    assert refusal(put("a.csv.gz", whole[:-3000])) == "a.csv.gz is not a whole compressed file."
    assert refusal(put("b.csv.gz", b"url\nsecret\n")) == "b.csv.gz is not a whole compressed file."
    assert refusal(put("c.csv.zst", b"url\nsecret\n")) == "c.csv.zst is not a whole compressed file."
    rows = b"".join(b'{"url": "secret%d"}\n' % (i * i) for i in range(90000))
    assert (
        refusal(put("t.jsonl.gz", gzip.compress(rows)[:-3000]))
        == "t.jsonl.gz is not a whole compressed file."
    )
    cut = pa.compress(rows, codec="zstd", asbytes=True)[:-3000]
    assert refusal(put("t.jsonl.zst", cut)) == "t.jsonl.zst is not a whole compressed file."
    assert refusal(put("d.jsonl.gz", b'{"url": "secret"}\n')) == "d.jsonl.gz is not a whole compressed file."
    assert (
        refusal(put("e.jsonl.zst", b'{"url": "secret"}\n')) == "e.jsonl.zst is not a whole compressed file."
    )


def test_json_lines(put):
    defect = "has lines that are not well-formed JSON objects."
    good = b'{"url": "secret"}\n' * 3000
    for content in (
        b'{"url": "secret"\n',
        b"secret\n",
        b"[1, 2]\n",
        b'"secret"\n',
        b'{"url": 1} {"url": 2}\n',
    ):
        assert refusal(put("a.jsonl", good + content)) == f"a.jsonl {defect}"
    assert refusal(put("u.jsonl", good + b'{"url": "\xff"}\n')) == "u.jsonl has text that is not valid UTF-8."
    text = "Column 'url' has values that are not whole numbers (type int)."
    assert refusal(put("i.jsonl", good), key_type="int") == text


def test_lines(put):
    text = "a.txt has text that is not valid UTF-8."
    assert refusal(put("a.txt", b"secret\nsecret\xff\n"), column=None) == text
    text = "A key is longer than 4096 bytes; shorten or hash such keys first."
    limit = KeyLimit(on_bad="fail")
    assert refusal(put("long.txt", b"secret" * (1 << 19)), column=None, limit=limit) == text
    text = "Lines of text have no columns, so --format lines takes no --column."
    assert refusal("a.txt", ParameterError, format="lines", column=["a", "b"]) == text
    assert refusal("a.txt", ParameterError) == text


def test_other_type_in_a_later_file(put):
    os.mkdir("d")
    pq.write_table(pa.table({"url": ["secret"]}), "d/a.parquet")
    pq.write_table(pa.table({"url": [1]}), "d/b.parquet")
    assert refusal("d") == "d/b.parquet has another column type than the files before it."
    pq.write_table(pa.table({"other": [1]}), "d/b.parquet")
    text = "Column 'url' is not in the file; it has: other."
    assert refusal("d", ParameterError) == text


def test_a_file_that_vanishes(put):
    shutil.copy(put("a.csv", b"url\nsecret\n"), "b.csv")
    source = open_source("?.csv", column="url")
    os.unlink("b.csv")
    with pytest.raises(DataError) as caught:
        list(source.batches())
    assert str(caught.value) == "b.csv does not exist."


def test_permission_denied():
    sentence = failures.file_failure("a.csv", "has a defect")
    assert str(sentence(PermissionError(13, "secret"))) == "a.csv cannot be read: permission denied."
    assert str(sentence(MemoryError("secret"))) == "a.csv needs more memory than there is."
    assert str(sentence(RuntimeError("secret"))) == "a.csv has a defect."


def test_permission_of_a_file(put, monkeypatch):
    def denied(*_):
        raise PermissionError(13, "secret")

    monkeypatch.setattr("hushcount.sources.formats.files.file_input", denied)
    assert refusal(put("a.csv", b"url\nsecret\n")) == "a.csv cannot be read: permission denied."


def test_a_row_longer_than_a_block_is_not_called_malformed(put):
    put("wide.csv", b"url,text\n" + b"a," + b"x" * 3_000_000 + b"\n")
    text = "A key is longer than 4096 bytes; shorten or hash such keys first."
    assert refusal("wide.csv", limit=KeyLimit(on_bad="fail")) == text
    put("wide.csv", b"u" * 2_000_000 + b",text\na,b\n")
    assert refusal("wide.csv") == "wide.csv has a header longer than 1 MB."
