"""Data from a real web server with TLS on this machine, whose authority SSL_CERT_FILE names."""

import os
import ssl
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.tls import certificates

BUDGET = ("--epsilon", "4", "--delta", "1e-6")
UNTRUSTED = (
    "https://{}/a.csv is not trusted: its certificate must be for this host and signed by a known authority,"
    " which SSL_CERT_FILE may name.\n"
)


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def port(tmp_path):
    """A server for localhost, which is not the name 127.0.0.1."""
    certificates(tmp_path, "localhost")
    (tmp_path / "web").mkdir()
    rows = "".join(f"k{row % 3}\n" for row in range(900))
    (tmp_path / "web" / "a.csv").write_text(f"page\n{rows}")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=tmp_path / "web")) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()


def top(address, authority):
    command = [sys.executable, "-m", "hushcount", "top", address, "--column", "page", *BUDGET]
    environment = {**os.environ, "COLUMNS": "300"} | ({"SSL_CERT_FILE": str(authority)} if authority else {})
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_certificates_are_checked(port, tmp_path):
    address = f"https://localhost:{port}/a.csv?signature=secret"
    code, out, err = top(address, tmp_path / "authority.pem")
    assert (code, sorted(line.split("\t")[0] for line in out.splitlines()[1:])) == (0, ["k0", "k1", "k2"]), (
        err
    )
    assert "secret" not in out + err
    assert top(address, None) == (1, "", UNTRUSTED.format(f"localhost:{port}"))
    other = f"https://127.0.0.1:{port}/a.csv"
    assert top(other, tmp_path / "authority.pem") == (1, "", UNTRUSTED.format(f"127.0.0.1:{port}"))
    (tmp_path / "other").mkdir()
    certificates(tmp_path / "other", "localhost")
    wrong = tmp_path / "other" / "authority.pem"
    assert top(address, wrong) == (1, "", UNTRUSTED.format(f"localhost:{port}"))
