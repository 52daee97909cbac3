"""Nobody holds a connection without sending a request, and a body that comes slowly is refused."""

import socket
import time

import pytest
from tests.collector import ADMIN_TOKEN, REPORT, campaign, reports_of, serving
from uvicorn.protocols.http.h11_impl import H11Protocol

from hushcount.ldp.client.http import ask
from hushcount.service import bodies, connections, serve
from hushcount.service.admin import Administrator

PATIENCE = 0.4


@pytest.fixture
def quick(monkeypatch):
    """A collector that looks at its connections more often than others."""
    monkeypatch.setattr(connections, "PATIENCE", PATIENCE)
    monkeypatch.setattr(bodies, "PATIENCE", PATIENCE)


@pytest.fixture
def made(quick, tmp_path):
    """Its address, its campaign, and where to connect."""
    manifest = campaign()
    manifest.save(tmp_path / "manifest.json")
    with serving(tmp_path / "store.db", smallest_group=100, longest_wait=4 * PATIENCE) as (_, url):
        Administrator(url, ADMIN_TOKEN).make(str(tmp_path / "manifest.json"), "open", ())
        yield url, manifest, ("127.0.0.1", int(url.rpartition(":")[2]))


def until_cut(connection, drip=b""):
    """What comes on a connection until it is cut, while it is sent some bytes now and then."""
    connection.settimeout(PATIENCE / 5)
    found, end = b"", time.monotonic() + 30
    while time.monotonic() < end:
        try:
            if drip:
                connection.sendall(drip)
            octets = connection.recv(1 << 16)
        except TimeoutError:
            continue
        except OSError:
            return found
        if not octets:
            return found
        found += octets
    raise AssertionError("the connection was never cut")


def head(manifest, length):
    lines = [f"POST /v1/campaigns/{manifest.id}/reports HTTP/1.1", "Host: a", f"Content-Length: {length}"]
    return "\r\n".join([*lines, f"Content-Type: {REPORT['Content-Type']}", "", ""]).encode()


def test_silence_and_heads_without_an_end_are_cut(made):
    _, _, where = made
    for begin, drip in ((b"", b""), (b"GET / HT", b""), (b"GET / HTTP/1.1\r\nA: ", b"x")):
        with socket.create_connection(where) as connection:
            connection.sendall(begin)
            assert until_cut(connection, drip) == b""


def test_a_slow_body_is_answered_by_408(made):
    _, manifest, where = made
    (report,) = reports_of(manifest, 1)
    for drip in (b"", b"x"):
        with socket.create_connection(where) as connection:
            connection.sendall(head(manifest, 27) + report[:4])
            answer = until_cut(connection, drip)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b'"status":408' in answer


def test_the_rest_of_a_refused_body_is_not_waited_for(made):
    _, manifest, where = made
    with socket.create_connection(where) as connection:
        connection.sendall(head(manifest, 1 << 24))
        assert until_cut(connection, b"x").startswith(b"HTTP/1.1 422 ")


def test_whoever_does_not_read_is_cut(made):
    _, _, where = made
    with socket.create_connection(where) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(PATIENCE)
        request = b"GET /v1/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n" * 100
        end = time.monotonic() + 60
        while not _is_cut(connection, request):
            assert time.monotonic() < end
            time.sleep(PATIENCE / 40)


def _is_cut(connection, octets):
    """Whether a connection is found to be cut when it is sent more."""
    try:
        connection.sendall(octets)
    except TimeoutError:
        return False
    except OSError:
        return True
    return False


def test_a_report_that_waits_for_others_is_not_cut(made):
    url, manifest, _ = made
    (report,) = reports_of(manifest, 1)
    began = time.monotonic()
    place = f"{url}/v1/campaigns/{manifest.id}/reports"
    assert ask("POST", place, None, report, REPORT["Content-Type"]).status == 202
    assert time.monotonic() - began > 2 * PATIENCE


def test_the_framework_itself_would_wait_for_ever(made, monkeypatch, tmp_path):
    monkeypatch.setattr(serve, "WatchedConnection", H11Protocol)
    with serving(tmp_path / "other.db") as (_, url), socket.socket() as connection:
        connection.connect(("127.0.0.1", int(url.rpartition(":")[2])))
        connection.sendall(b"GET / HT")
        connection.settimeout(5 * PATIENCE)
        with pytest.raises(TimeoutError):
            connection.recv(1)
