"""Sealed reports through a relay: checked, shuffled, forwarded once, and kept until they have arrived."""

import socket
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from tests.collector import ADMIN_TOKEN, campaign, listening, reports_of, serving

from hushcount import ldp
from hushcount.ldp.client.http import ask
from hushcount.ldp.wire.sealing import SEALED_BYTES, pack_sealed, seal_report
from hushcount.service.admin import Administrator
from hushcount.service.relay import pool
from hushcount.service.relay import relay as relay_module
from hushcount.service.relay.app import relay_application
from hushcount.service.relay.relay import MOST_BODIES, WITHOUT_RELAY, Relay, RelaySettings
from hushcount.service.store.campaigns import token_hash

SEALED = "application/vnd.hushcount.sealed"
SEALED_REPORTS = "application/vnd.hushcount.sealed-reports"
TERMS = ldp.Terms(relay="a relay", min_batch=20)
TOKENS = tuple(f"client-token-number-{number}" for number in range(80))


def until(condition):
    """Wait for a condition, for a minute at most."""
    for _ in range(600):
        if condition():
            return True
        time.sleep(0.1)
    return False


def relaying(url, token, folder, **given):
    """The application of a relay that waits for nobody."""
    usual = {"smallest_group": 1, "longest_wait": 0.02, "rate": 0.0, "min_batch": 20, "max_wait": 0.5}
    settings = RelaySettings(collector=url, token=token, store=str(folder / "relay.db"), **usual | given)
    return relay_application(Relay(settings), pause=0.05)


@pytest.fixture
def made(tmp_path):
    """A collector with a campaign that is reached by a relay."""
    manifest = campaign(terms=TERMS)
    path = tmp_path / "manifest.json"
    manifest.save(path)
    with serving(tmp_path / "store.db") as (_, url):
        admin = Administrator(url, ADMIN_TOKEN)
        admin.make(str(path), "token", ())
        yield admin, url, manifest, admin.issue(manifest.id, 1, "relay")[0]


def key_of(url):
    import json

    (key,) = json.loads(ask("GET", f"{url}/v1/keys").body)
    return bytes.fromhex(key["id"]), bytes.fromhex(key["public"])


def test_through_the_relay(made, tmp_path):
    admin, url, manifest, token = made
    address = f"{url}/v1/campaigns/{manifest.id}"
    at_once = {"min_batch": 25, "max_wait": 600.0}  # all in one batch: fewer than twenty would wait for ever
    with listening(relaying(url, token, tmp_path, client_tokens=TOKENS, **at_once)) as relay:

        def report(number):
            folder = tmp_path / f"user-{number}"
            return ldp.connect(address, TOKENS[number], folder=folder, relay=relay).report(7)

        with ThreadPoolExecutor(8) as pool:
            assert {each.sent for each in pool.map(report, range(25))} == {1}
        assert until(lambda: admin.status(manifest.id)["reports"] == 25)
        place = f"{relay}/v1/campaigns/{manifest.id}/sealed"
        sealed = seal_report(reports_of(manifest, 1)[0], *key_of(url), manifest.campaign)
        statuses = [
            ask("POST", place, used, body, kind).status
            for used, body, kind in (
                (TOKENS[0], sealed, SEALED),
                (None, sealed, SEALED),
                ("another token of somebody", sealed, SEALED),
                (TOKENS[60], sealed[:-1], SEALED),
                (TOKENS[60], sealed + bytes(1000), SEALED),
                (TOKENS[60], sealed, SEALED_REPORTS),
            )
        ]
        assert statuses == [409, 401, 401, 422, 413, 403]
        nowhere = f"{relay}/v1/campaigns/{'0' * 64}/sealed"
        assert ask("POST", nowhere, TOKENS[60], sealed, SEALED).status == 404
        for odd in ("%3Fx", "a%20b", "%0d%0aX", "%00", "..", "%ff"):
            place = f"{relay}/v1/campaigns/{odd}/sealed"
            answer = ask("POST", place, TOKENS[60], sealed, SEALED)
            assert (answer.status, answer.title) == (404, "There is nothing here."), odd
    assert admin.status(manifest.id)["batches"] == 1
    direct = ask("POST", f"{address}/reports", None, reports_of(manifest, 1)[0], SEALED)
    assert direct.status in (403, 415)
    octets = (tmp_path / "relay.db").read_bytes()
    assert not any(used.encode() in octets for used in TOKENS)


def test_reports_wait_on_disk_until_the_collector_has_them(made, tmp_path):
    admin, url, manifest, token = made
    key = key_of(url)
    sealed = [seal_report(each, *key, manifest.campaign) for each in reports_of(manifest, 25)]
    at_once = {"min_batch": 25, "max_wait": 600.0}
    with listening(relaying(url, "a token that is wrong", tmp_path, **at_once)) as relay:
        place = f"{relay}/v1/campaigns/{manifest.id}/sealed"
        assert {ask("POST", place, None, each, SEALED).status for each in sealed} == {202}
        time.sleep(0.5)
    assert admin.status(manifest.id)["reports"] == 0
    with listening(relaying(url, token, tmp_path, **at_once)):
        assert until(lambda: admin.status(manifest.id)["reports"] == 25)
    with sqlite3.connect(tmp_path / "relay.db") as connection:
        assert connection.execute("SELECT COUNT(*) FROM batch").fetchone() == (0,)


def test_too_few_that_open_wait_for_more(made, tmp_path):
    admin, url, manifest, token = made
    key = key_of(url)
    bad = [key[0] + bytes([number]) * (SEALED_BYTES - 8) for number in range(10)]
    foreign = [seal_report(each, *key, bytes(32)) for each in reports_of(manifest, 5)]
    good = [seal_report(each, *key, manifest.campaign) for each in reports_of(manifest, 30)]
    with listening(relaying(url, token, tmp_path)) as relay:
        place = f"{relay}/v1/campaigns/{manifest.id}/sealed"
        for each in (*bad, *foreign, *good[:10]):
            assert ask("POST", place, None, each, SEALED).status == 202
        time.sleep(1.0)
        assert admin.status(manifest.id)["reports"] == 0
        for each in good[10:]:
            ask("POST", place, None, each, SEALED)
        # The batch goes off as soon as twenty open; the others wait for the next one.
        assert until(lambda: 20 <= admin.status(manifest.id)["reports"] <= 30)
    assert admin.status(manifest.id)["dropped"] == 15


def test_many_reports_are_several_batches_and_a_closed_campaign_takes_none(made, tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "MOST_TOGETHER", 30)
    admin, url, manifest, token = made
    key = key_of(url)
    sealed = [seal_report(each, *key, manifest.campaign) for each in reports_of(manifest, 145)]
    with listening(relaying(url, token, tmp_path)) as relay:
        place = f"{relay}/v1/campaigns/{manifest.id}/sealed"
        for body in (b"", pack_sealed(sealed)[:-1], pack_sealed(sealed) + b"x"):
            assert ask("POST", place, None, body, SEALED_REPORTS).status == 422
        assert ask("POST", place, None, pack_sealed(sealed[:100]), SEALED_REPORTS).status == 202
        assert until(lambda: admin.status(manifest.id)["reports"] == 100)
        assert admin.status(manifest.id)["batches"] == 4, "of 25 each: above 30 is too many, below 20 too few"
        # Of 45 no two batches of twenty and at most thirty more could be made, but two of 22 and 23.
        assert ask("POST", place, None, pack_sealed(sealed[100:]), SEALED_REPORTS).status == 202
        assert until(lambda: admin.status(manifest.id)["reports"] == 145)
        admin.close(manifest.id)
        more = [seal_report(each, *key, manifest.campaign) for each in reports_of(manifest, 20)]
        assert ask("POST", place, None, pack_sealed(more), SEALED_REPORTS).status == 202
        # The collector has not said yet that it is closed; once it has, the relay says so too.
        assert until(lambda: ask("POST", place, None, more[0], SEALED).status == 410)
        assert ask("POST", place, None, pack_sealed(more), SEALED_REPORTS).status == 410


def test_what_was_refused_is_not_sent_again_for_one_more_report(made, tmp_path):
    admin, url, manifest, token = made
    key = key_of(url)
    bad = [key[0] + bytes([number]) * (SEALED_BYTES - 8) for number in range(30)]
    with listening(relaying(url, token, tmp_path)) as relay:
        place = f"{relay}/v1/campaigns/{manifest.id}/sealed"
        batches = lambda: ask("GET", f"{relay}/metrics").body.count(b"hushcount_batches_total 1")  # noqa: E731
        assert ask("POST", place, None, pack_sealed(bad[:20]), SEALED_REPORTS).status == 202
        assert until(batches)
        for each in bad[20:]:
            assert ask("POST", place, None, each, SEALED).status == 202
        time.sleep(1.0)
        assert batches(), "ten more are too few to try again"
        good = [seal_report(each, *key, manifest.campaign) for each in reports_of(manifest, 25)]
        assert ask("POST", place, None, pack_sealed(good), SEALED_REPORTS).status == 202
        assert until(lambda: admin.status(manifest.id)["reports"] == 25)


def test_campaigns_take_turns(made, tmp_path):
    admin, url, manifest, token = made
    other = campaign(terms=TERMS)  # for which the relay has no token, so that its batches are not taken
    other.save(tmp_path / "other.json")
    admin.make(str(tmp_path / "other.json"), "open", ())
    key = key_of(url)
    with listening(relaying(url, token, tmp_path)) as relay:
        for each, batches in ((other, 20), (manifest, 1)):
            sealed = [seal_report(report, *key, each.campaign) for report in reports_of(each, 20)]
            place = f"{relay}/v1/campaigns/{each.id}/sealed"
            for _ in range(batches):
                assert ask("POST", place, None, pack_sealed(sealed), SEALED_REPORTS).status == 202
                time.sleep(0.05)
        assert until(lambda: admin.status(manifest.id)["reports"] == 20)
    with sqlite3.connect(tmp_path / "relay.db") as connection:
        kept = connection.execute(
            "SELECT DISTINCT campaign FROM (SELECT campaign FROM batch UNION SELECT campaign FROM waiting)"
        )
        assert kept.fetchall() == [(other.id,)]


def test_a_collector_that_knows_nothing_costs_nothing(made, tmp_path):
    admin, url, manifest, token = made
    key = key_of(url)
    sealed = [seal_report(each, *key, manifest.campaign) for each in reports_of(manifest, 25)]
    with listening(relaying(url, "a token that is wrong", tmp_path)) as relay:
        place = f"{relay}/v1/campaigns/{manifest.id}/sealed"
        assert ask("POST", place, None, pack_sealed(sealed), SEALED_REPORTS).status == 202
    with serving(tmp_path / "empty.db") as (_, empty), listening(relaying(empty, token, tmp_path)) as relay:
        assert until(lambda: b"hushcount_batches_total" in ask("GET", f"{relay}/metrics").body)
        time.sleep(0.5)
        taken = ask("POST", f"{relay}/v1/campaigns/{manifest.id}/sealed", None, sealed[0], SEALED)
        assert taken.status == 202, "it knows the manifest from its own disk"
    with listening(relaying(url, token, tmp_path)):
        assert until(lambda: admin.status(manifest.id)["reports"] == 25)


def test_only_campaigns_whose_manifest_names_a_relay(made, tmp_path):
    admin, url, _, token = made
    plain = campaign()
    plain.save(tmp_path / "plain.json")
    admin.make(str(tmp_path / "plain.json"), "open", ())
    sealed = seal_report(reports_of(plain, 1)[0], *key_of(url), plain.campaign)
    with listening(relaying(url, token, tmp_path)) as relay:
        place = f"{relay}/v1/campaigns/{plain.id}/sealed"
        for body, kind in ((sealed, SEALED), (pack_sealed([sealed]), SEALED_REPORTS)):
            refused = ask("POST", place, None, body, kind)
            assert (refused.status, refused.title) == (403, WITHOUT_RELAY)
    octets = b"".join(each.read_bytes() for each in tmp_path.glob("relay.db*"))
    assert plain.id.encode() not in octets


def test_whoever_makes_up_campaigns_does_not_keep_the_collector_busy(made, tmp_path):
    _, url, manifest, token = made
    sealed = seal_report(reports_of(manifest, 1)[0], *key_of(url), manifest.campaign)
    with listening(relaying(url, token, tmp_path)) as relay:
        place = f"{relay}/v1/campaigns/{manifest.id}/sealed"
        assert ask("POST", place, None, sealed, SEALED).status == 202
        made_up = [f"{relay}/v1/campaigns/{number:064x}/sealed" for number in range(60)]
        statuses = [ask("POST", each, None, sealed, SEALED).status for each in made_up]
        assert set(statuses) == {404, 503}
        assert statuses.count(404) < 50
        assert ask("POST", place, None, sealed, SEALED).status == 202, "a campaign it knows is not held up"


def test_many_first_reports_at_once_are_one_question(made, tmp_path):
    admin, url, manifest, token = made
    sealed = [seal_report(each, *key_of(url), manifest.campaign) for each in reports_of(manifest, 60)]
    with listening(relaying(url, token, tmp_path)) as relay, ThreadPoolExecutor(60) as pool:
        place = f"{relay}/v1/campaigns/{manifest.id}/sealed"
        sent = pool.map(lambda each: ask("POST", place, None, each, SEALED).status, sealed)
        assert set(sent) == {202}
        assert until(lambda: admin.status(manifest.id)["reports"] >= 20)


def test_what_is_left_goes_at_the_end_of_retention(made, tmp_path, monkeypatch):
    _, url, manifest, _ = made
    reports = reports_of(manifest, 5)
    sealed = [seal_report(each, *key_of(url), manifest.campaign) for each in reports]
    with listening(relaying(url, "a token that is wrong", tmp_path, client_tokens=TOKENS)) as relay:
        place = f"{relay}/v1/campaigns/{manifest.id}/sealed"
        for each, used in zip(sealed, TOKENS, strict=False):
            assert ask("POST", place, used, each, SEALED).status == 202
    octets = lambda: b"".join(each.read_bytes() for each in tmp_path.glob("relay.db*"))  # noqa: E731
    secrets = [each[20:60] for each in sealed] + [token_hash(each)[:16] for each in TOKENS[:5]]
    assert all(each in octets() for each in secrets)
    over = manifest.expires + manifest.terms.retention_days * 86400
    monkeypatch.setattr(relay_module.time, "time", lambda: over)
    # The collector need not be there: the relay knows when the time is over.
    with listening(relaying("http://127.0.0.1:9", "a token that is wrong", tmp_path)):
        assert until(lambda: not any(each in octets() for each in secrets))


def test_few_bodies_are_held_at_once(made, tmp_path):
    _, url, manifest, token = made
    app = relaying(url, token, tmp_path)
    where = f"/v1/campaigns/{manifest.id}/sealed HTTP/1.1"
    lines = [f"POST {where}", "Host: a", f"Content-Type: {SEALED_REPORTS}", "Content-Length: 1000000", "", ""]
    with listening(app) as relay:
        place = ("127.0.0.1", int(relay.rpartition(":")[2]))
        held = [socket.create_connection(place) for _ in range(MOST_BODIES)]
        for each in held:
            each.sendall("\r\n".join(lines).encode() + b"HCS1")
        address = f"{relay}/v1/campaigns/{manifest.id}/sealed"
        status = partial(ask, "POST", address, None, b"x", SEALED_REPORTS)
        assert until(lambda: status().status == 503)
        for each in held:
            each.close()
        assert until(lambda: status().status == 422)


def test_batches_of_sealed_reports(made):
    admin, url, manifest, token = made
    key, place = key_of(url), f"{url}/v1/campaigns/{manifest.id}/reports"
    sealed = [seal_report(each, *key, manifest.campaign) for each in reports_of(manifest, 25)]
    whole = pack_sealed(sealed)
    bad = (whole[:-1], whole[:99] + b"x" + whole[100:], pack_sealed(sealed[:19]), b"", whole[:8])
    for each in bad:
        assert ask("POST", place, token, each, SEALED_REPORTS).status == 422
    assert ask("POST", place, None, whole, SEALED_REPORTS).status == 401
    assert admin.status(manifest.id)["reports"] == 0
    for _ in range(2):
        assert ask("POST", place, token, whole, SEALED_REPORTS).status == 202
    assert admin.status(manifest.id)["reports"] == 25
