"""A collector in this process, campaigns for it, and reports of simulated clients."""

import threading
import time
from contextlib import contextmanager

from starlette.testclient import TestClient

from hushcount import ldp
from hushcount.ldp.wire.batch import pack_batch
from hushcount.service.app import application
from hushcount.service.collector import Collector, CollectorSettings
from hushcount.service.serve import Listening, server_of

ADMIN_TOKEN = "admin-token-of-the-tests"
ADMIN = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
REPORT = {"Content-Type": "application/vnd.hushcount.report"}
REPORTS = {"Content-Type": "application/vnd.hushcount.reports"}
SEALED_REPORTS = {"Content-Type": "application/vnd.hushcount.sealed-reports"}
ANONYMOUS = ldp.Terms(collector="a collector", relay="a relay", retention_days=3, min_batch=50, promise="")


def campaign(items=None, *, terms=None, expires=None, users=1000):
    """The manifest of a new campaign about the whole numbers below 256."""
    made = ldp.ExplicitHist(
        items or ldp.Integers(8),
        epsilon=2.0,
        users=users,
        expires=int(time.time()) + 3600 if expires is None else expires,
        **({} if terms is None else {"terms": terms}),
    )
    return made.manifest


def reports_of(manifest, count, item=7):
    """The reports of so many clients that hold an item."""
    return [ldp.Client(manifest).report(item) for _ in range(count)]


def batch_of(reports):
    """Reports as a relay sends them."""
    return pack_batch(sorted(reports, key=lambda report: report[9:25]))


def settings(store, **given):
    """The settings of a collector that waits for nobody."""
    usual = {"smallest_group": 1, "longest_wait": 0.05, "rate": 0.0}
    return CollectorSettings(store=str(store), admin_token=ADMIN_TOKEN, **usual | given)


@contextmanager
def collecting(store, clock=time.time, **given):
    """A running collector, as a client that asks it."""
    collector = Collector(settings(store, **given), clock)
    with TestClient(application(collector), raise_server_exceptions=False) as client:
        client.collector = collector
        yield client


@contextmanager
def listening(app, stopping=lambda: None):
    """The address of an application that a server runs in a thread."""
    server = server_of(app, Listening(listen="127.0.0.1:0"), stopping)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def serving(store, **given):
    """A collector that listens, and its address."""
    collector = Collector(settings(store, **given))
    with listening(application(collector), collector.groups.hurry) as url:
        yield collector, url


def bearer(token):
    """The header that shows a token."""
    return {"Authorization": f"Bearer {token}"}


def new(client, manifest, **given):
    """Make a campaign and return its path."""
    body = b'{"manifest": ' + manifest.to_json().encode()
    for name, value in given.items():
        body += f', "{name}": '.encode() + value
    answer = client.post(
        "/v1/campaigns", headers=ADMIN | {"Content-Type": "application/json"}, content=body + b"}"
    )
    assert answer.status_code in (200, 201), answer.text
    return answer.headers["Location"]


def tokens(client, path, count=1, role="client"):
    """New tokens of a campaign."""
    answer = client.post(f"{path}/tokens", headers=ADMIN, json={"count": count, "role": role})
    assert answer.status_code == 201, answer.text
    return answer.json()["tokens"]


def stored(client, path):
    """How many reports the collector says it has stored."""
    client.collector.forget(path.rpartition("/")[2])
    return client.get(path, headers=ADMIN).json()["reports"]
