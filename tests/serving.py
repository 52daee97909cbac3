"""A real collector in a process of its own, and files served to a browser from another origin."""

import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.request import Request, urlopen

ADMIN = "the-token-of-these-tests"


class Collector(NamedTuple):
    """A running collector."""

    url: str

    def ask(self, method, path, body=None):
        """Ask it as its administrator; return the JSON of the answer."""
        data = None if body is None else json.dumps(body).encode()
        return self.send(path, data, "application/json", method)

    def send(self, path, body, kind, method="POST"):
        """Send bytes as its administrator; return the JSON of the answer."""
        headers = {"Authorization": f"Bearer {ADMIN}", "Content-Type": kind}
        with urlopen(Request(self.url + path, body, headers, method=method), timeout=60) as answer:
            return json.loads(answer.read() or b"null")

    def make(self, manifest, origins=("*",), access="open"):
        """Make a campaign; return its address."""
        fields = {"manifest": json.loads(manifest.to_json()), "origins": list(origins), "access": access}
        return self.url + self.ask("POST", "/v1/campaigns", fields)["url"]

    def status(self, address):
        """How far a campaign is."""
        return self.ask("GET", address.removeprefix(self.url))


@contextmanager
def collector(folder):
    """A collector whose single reports wait for nobody, on a port that the system chooses."""
    (folder / "admin.token").write_text(ADMIN)
    options = ["--listen", "127.0.0.1:0", "--store", str(folder / "reports.db"), "--rate", "0"]
    options += ["--admin-token-file", str(folder / "admin.token"), "--min-group", "1", "--max-wait", "0.05"]
    with _service(folder, "collect", "serve", *options) as url:
        yield Collector(url)


@contextmanager
def relay(folder, running, address, batch):
    """A relay of a campaign that forwards batches of so many reports; give its address."""
    path = address.removeprefix(running.url)
    issued = running.ask("POST", f"{path}/tokens", {"count": 1, "role": "relay"})["tokens"]
    (folder / "relay.token").write_text(issued[0])
    options = ["--listen", "127.0.0.1:0", "--collector", running.url, "--store", str(folder / "relay.db")]
    options += ["--token-file", str(folder / "relay.token"), "--rate", "0"]
    options += ["--min-batch", str(batch), "--min-group", "1"]
    with _service(folder, "relay", "serve", *options) as url:
        yield url


@contextmanager
def _service(folder, *command):
    """Run a service of hushcount until the block ends; give its address."""
    log = folder / f"{command[0]}.log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "hushcount", *command],
            stderr=stream,
            stdout=stream,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
    try:
        yield _address(process, log)
    finally:
        process.terminate()
        process.wait(60)


def _address(process, log):
    """Wait until a service says where it listens."""
    for _ in range(1200):
        for line in log.read_text().splitlines():
            said = json.loads(line) if line.startswith("{") else {}
            if said.get("event") == "listening":
                return f"http://{said['host']}:{said['port']}"
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        break
    raise AssertionError("the service did not start: " + log.read_text()[-2000:])


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def folder_served(folder):
    """A folder at an address of this machine; give the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
