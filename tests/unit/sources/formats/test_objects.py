"""Objects of a real S3-compatible server, and files of a web server, both on this machine."""

import gzip
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import boto3
import pyarrow as pa
import pytest
from moto.server import ThreadedMotoServer
from pyarrow import parquet

import hushcount as hc
from hushcount.errors import DataError, ParameterError
from hushcount.sources.formats import objects
from hushcount.sources.open import open_source

TABLE = pa.table({"url": [f"k{n % 7}" for n in range(3000)], "n": list(range(3000))})
KEYS = TABLE["url"].to_pylist()
REFUSED = (
    "{} may not be read with the credentials that were found; give others by AWS_ACCESS_KEY_ID and"
    " AWS_SECRET_ACCESS_KEY, or AWS_PROFILE."
)


@pytest.fixture(scope="module")
def endpoint():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint, monkeypatch, request):
    known = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "secret-of-a-test",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    for name, value in known.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")
    name = f"bucket-{abs(hash(request.node.name)) % 10**9}"
    client.create_bucket(Bucket=name)

    def put(key, content):
        client.put_object(Bucket=name, Key=key, Body=content)

    return name, put


def written(form, table=TABLE):
    sink = pa.BufferOutputStream()
    if form == "parquet":
        parquet.write_table(table, sink, row_group_size=700)
        return sink.getvalue().to_pybytes()
    if form == "arrow":
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=450)
        return sink.getvalue().to_pybytes()
    text = "url,n\n" + "".join(f"{row['url']},{row['n']}\n" for row in table.to_pylist())
    return gzip.compress(text.encode()) if form == "csv.gz" else text.encode()


def keys_of(path, column="url", **options):
    source = open_source(path, column=column, **options)
    return [key for batch in source.batches() for key in batch.keys.to_pylist()]


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "csv.gz"])
def test_every_format_of_an_object(bucket, form):
    name, put = bucket
    put(f"a.{form}", written(form))
    path = f"s3://{name}/a.{form}"
    assert keys_of(path) == KEYS
    source = open_source(path, column="url")
    rest = [key for batch in source.batches(1000) for key in batch.keys.to_pylist()]
    assert rest == KEYS[1000:]
    assert source.inputs == ()
    assert source.fingerprint == open_source(path, column="url").fingerprint != ""
    put(f"a.{form}", written(form, TABLE.slice(1)))
    assert open_source(path, column="url").fingerprint != source.fingerprint


def test_partitioned_folders_and_globs(bucket):
    name, put = bucket
    for country in ("fr", "de"):
        for day in (1, 2):
            put(f"data/country={country}/day={day}/a.parquet", written("parquet"))
    put("data/_SUCCESS", b"")
    assert keys_of(f"s3://{name}/data", "country") == ["de"] * 6000 + ["fr"] * 6000
    assert keys_of(f"s3://{name}/data/", "day", key_type="int") == ([1] * 3000 + [2] * 3000) * 2
    assert keys_of(f"s3://{name}/data/country=*/day=2/*.parquet", "country") == ["de"] * 3000 + ["fr"] * 3000
    assert len(keys_of(f"s3://{name}/data/country=f*", "url")) == 6000


def test_a_release_and_a_checkpoint(bucket, tmp_path):
    name, put = bucket
    put("a.parquet", written("parquet"))
    path, kept = f"s3://{name}/a.parquet", tmp_path / "run.ck"
    release = hc.top(path, column="url", epsilon=20, delta=1e-6, checkpoint=kept)
    assert len(release.counts) == 7
    assert not kept.exists()


def test_an_object_that_changes_while_it_is_read(bucket):
    name, put = bucket
    put("a.csv", b"url\n" + b"x\n" * 3_000_000)
    path = f"s3://{name}/a.csv"
    batches = open_source(path, column="url").batches()
    next(batches)
    put("a.csv", b"url\n" + b"y\n" * 3_000_000)
    with pytest.raises(DataError) as caught:
        list(batches)
    assert str(caught.value) == f"{path} changed while it was read, so nothing was released; run it again."


def test_what_is_not_there(bucket):
    name, put = bucket
    put("a.csv", b"url\nx\n")
    for path in (f"s3://{name}/b.csv", "s3://no-such-bucket-at-all/a.csv"):
        with pytest.raises(DataError) as caught:
            open_source(path, column="url")
        assert str(caught.value) == f"{path} does not exist."


def test_a_bucket_without_rights(bucket, endpoint, monkeypatch):
    """Every request is refused, whatever it asks for, as by a store that knows no such key."""
    name, _ = bucket
    with Served(partial(Refusing)) as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        path = f"s3://{name}/a.csv"
        with pytest.raises(DataError) as caught:
            open_source(path, column="url")
        assert str(caught.value) == REFUSED.format(path)


@pytest.mark.parametrize("path", ["s3://key:secret@bucket/a.csv", "https://me:secret@a.example/a.csv"])
def test_secrets_in_an_address_are_refused(path):
    with pytest.raises(ParameterError) as caught:
        open_source(path, column="url")
    assert str(caught.value) == objects.SECRETS


class Served:
    """A web server of this machine, while a block runs."""

    def __init__(self, handler):
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Refusing(Quiet):
    def do_GET(self):
        self.send_error(403)

    def do_HEAD(self):
        self.send_error(403)


class CutOff(Quiet):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"url\nx\n")


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "csv.gz"])
def test_files_of_the_web(tmp_path, form):
    Path(tmp_path / f"a.{form}").write_bytes(written(form))
    with Served(partial(Quiet, directory=str(tmp_path))) as address:
        assert keys_of(f"{address}/a.{form}") == KEYS
        assert keys_of(f"{address}/a.{form}?signature=secret") == KEYS
        with pytest.raises(DataError) as caught:
            open_source(f"{address}/b.{form}?signature=secret", column="url")
        assert str(caught.value) == f"{address}/b.{form} does not exist."


def test_the_web_refuses_or_breaks_off():
    with Served(Refusing) as address:
        with pytest.raises(DataError) as caught:
            open_source(f"{address}/a.csv?signature=secret", column="url")
        assert str(caught.value) == f"{address}/a.csv may not be read with the credentials that were found."
    with Served(CutOff) as address:
        with pytest.raises(DataError) as caught:
            keys_of(f"{address}/a.csv")
        assert str(caught.value) == (
            f"{address}/a.csv was cut off while it was read, so nothing was released; run it again."
        )
    with pytest.raises(DataError) as caught:
        open_source(f"{address}/a.csv", column="url")
    assert (
        str(caught.value)
        == f"{address}/a.csv cannot be read, because its server does not answer as it should."
    )
