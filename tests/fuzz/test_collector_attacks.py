"""What an outsider may try against a running collector: it is refused, and others are served meanwhile."""

import json
import secrets
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.collector import (
    ADMIN_TOKEN,
    ANONYMOUS,
    REPORT,
    REPORTS,
    SEALED_REPORTS,
    batch_of,
    campaign,
    reports_of,
    serving,
)

from hushcount.ldp.client.http import ask
from hushcount.ldp.wire.sealing import SEALED_BYTES, new_pair, pack_sealed, seal_report
from hushcount.service.admin import Administrator

JSON = "application/json"
ONE, MANY, SEALED = (each["Content-Type"] for each in (REPORT, REPORTS, SEALED_REPORTS))


@pytest.fixture
def made(tmp_path):
    """A collector's address, its administrator, and campaigns: one with tokens, another, one with a relay."""
    manifests = [campaign(), campaign(), campaign(terms=ANONYMOUS)]
    with serving(tmp_path / "store.db") as (_, url):
        admin = Administrator(url, ADMIN_TOKEN)
        for number, (manifest, access) in enumerate(zip(manifests, ("token", "token", "open"), strict=True)):
            manifest.save(tmp_path / f"{number}.json")
            admin.make(str(tmp_path / f"{number}.json"), access, ())
        yield url, admin, manifests


def test_forged_tokens(made):
    url, admin, (manifest, other, _) = made
    (good,), (foreign,) = admin.issue(manifest.id, 1, "client"), admin.issue(other.id, 1, "client")
    (report,) = reports_of(manifest, 1)
    place = f"{url}/v1/campaigns/{manifest.id}/reports"
    near = [good[:-1], good + "A", good.swapcase(), ADMIN_TOKEN[:-1], ADMIN_TOKEN.upper(), "x" * 8000]
    for token in (*near, *(secrets.token_urlsafe(24) for _ in range(50))):
        assert ask("POST", place, token, report, ONE).status == 401
    assert ask("POST", place, foreign, report, ONE).status == 403
    for method, what in (
        ("GET", ""),
        ("DELETE", ""),
        ("POST", "/close"),
        ("POST", "/release"),
        ("GET", "/check"),
    ):
        body = b"" if method == "POST" else None
        assert ask(method, f"{url}/v1/campaigns/{manifest.id}{what}", good, body).status == 403
        assert ask(method, f"{url}/v1/campaigns/{manifest.id}{what}", None, body).status == 401
    assert admin.status(manifest.id)["reports"] == 0
    assert ask("POST", place, good, report, ONE).status == 202


def test_a_flood_of_replays_counts_once(made):
    url, admin, (manifest, other, _) = made
    tokens = admin.issue(manifest.id, 40, "client")
    first, second = reports_of(manifest, 2)
    place = f"{url}/v1/campaigns/{manifest.id}/reports"
    with ThreadPoolExecutor(16) as pool:
        same = list(pool.map(lambda _: ask("POST", place, tokens[0], first, ONE).status, range(60)))
        nonce = list(pool.map(lambda token: ask("POST", place, token, first, ONE).status, tokens[1:]))
        spent = list(pool.map(lambda _: ask("POST", place, tokens[0], second, ONE).status, range(20)))
    assert (same.count(202), set(same)) == (1, {202, 409})
    assert set(nonce) == set(spent) == {409}
    assert admin.status(manifest.id)["reports"] == 1
    # The same bytes are no report of another campaign, whatever nonce they have.
    (token,) = admin.issue(other.id, 1, "client")
    elsewhere = f"{url}/v1/campaigns/{other.id}/reports"
    assert ask("POST", elsewhere, token, first, ONE).status == 422
    assert admin.status(other.id)["reports"] == 0


def test_reports_sealed_for_another_campaign_or_key(made):
    url, admin, (_, other, manifest) = made
    (relay,) = admin.issue(manifest.id, 1, "relay")
    (key,) = json.loads(ask("GET", f"{url}/v1/keys").body)
    identity, public = bytes.fromhex(key["id"]), bytes.fromhex(key["public"])
    reports = reports_of(manifest, 60)
    place = f"{url}/v1/campaigns/{manifest.id}/reports"
    wrong = [
        [seal_report(each, identity, public, other.campaign) for each in reports],
        [seal_report(each, identity, new_pair()[1], manifest.campaign) for each in reports],
        [seal_report(each, bytes(8), public, manifest.campaign) for each in reports],
        [seal_report(each, identity, public, manifest.campaign) for each in reports_of(other, 60)],
        [identity + secrets.token_bytes(SEALED_BYTES - 8) for _ in reports],
    ]
    for sealed in wrong:
        assert ask("POST", place, relay, pack_sealed(sealed), SEALED).status == 422
    good = [seal_report(each, identity, public, manifest.campaign) for each in reports]
    copies = pack_sealed([seal_report(reports[0], identity, public, manifest.campaign) for _ in range(60)])
    assert ask("POST", place, relay, copies, SEALED).status == 422, "sixty times one report are one"
    assert admin.status(manifest.id)["reports"] == 0
    assert ask("POST", place, relay, pack_sealed(good), SEALED).status == 202
    assert ask("POST", place, relay, pack_sealed(good[::-1]), SEALED).status == 202
    assert admin.status(manifest.id)["reports"] == 60


def test_torn_batches(made):
    url, admin, (manifest, _, _) = made
    whole = batch_of(reports_of(manifest, 40))
    place = f"{url}/v1/campaigns/{manifest.id}/reports"
    for cut in (*range(0, 60, 7), 27, 500, len(whole) - 1):
        assert ask("POST", place, ADMIN_TOKEN, whole[:cut], MANY).status == 422
    for count in (0, 39, 41, 2**32 - 1):
        forged = whole[:4] + count.to_bytes(4, "little") + whole[8:]
        assert ask("POST", place, ADMIN_TOKEN, forged, MANY).status == 422
    # A connection that is cut in the middle of a body leaves nothing either.
    where = ("127.0.0.1", int(url.rpartition(":")[2]))
    lines = [f"POST {place.removeprefix(url)} HTTP/1.1", "Host: a", f"Content-Type: {MANY}"]
    lines += [f"Authorization: Bearer {ADMIN_TOKEN}", f"Content-Length: {len(whole)}", "", ""]
    with socket.create_connection(where) as connection:
        connection.sendall("\r\n".join(lines).encode() + whole[:-5])
    assert admin.status(manifest.id)["reports"] == 0
    assert ask("POST", place, ADMIN_TOKEN, whole, MANY).status == 202


def test_huge_json(made):
    url, _, _ = made
    place = f"{url}/v1/campaigns"
    bodies = [
        b"[" * (1 << 20),
        b'{"a":' * (1 << 18),
        b'{"manifest": {"a": ' + b"9" * (1 << 20) + b"}}",
        b'{"manifest": "' + b"\\u0000" * (1 << 18) + b'"}',
        b'{"manifest": {' + b'"a": 1,' * (1 << 18) + b'"b": 1}}',
        b'{"origins": [' + b'"https://a",' * (1 << 18) + b'"https://b"], "manifest": {}}',
    ]
    for body in bodies:
        began = time.monotonic()
        assert ask("POST", place, ADMIN_TOKEN, body, JSON).status in (400, 422)
        assert ask("POST", place, None, body, JSON).status == 401
        assert time.monotonic() - began < 60
    assert ask("GET", f"{url}/healthz").status == 200


def test_others_are_served_while_many_hold_connections_open(made):
    url, admin, (manifest, _, _) = made
    where = ("127.0.0.1", int(url.rpartition(":")[2]))
    head = f"POST /v1/campaigns/{manifest.id}/reports HTTP/1.1\r\nHost: a\r\nContent-Type: {ONE}\r\n".encode()
    held = []
    try:
        for begin in (b"", b"GET", head, head + b"Content-Length: 27\r\n\r\nabc"):
            for _ in range(100):
                held.append(socket.create_connection(where))
                held[-1].sendall(begin)
        (token,) = admin.issue(manifest.id, 1, "client")
        (report,) = reports_of(manifest, 1)
        place = f"{url}/v1/campaigns/{manifest.id}/reports"
        assert ask("POST", place, token, report, ONE).status == 202
        assert admin.status(manifest.id)["reports"] == 1
    finally:
        for each in held:
            each.close()
