"""Every route of the collector and every status that it answers."""

import dataclasses
import http.client
import re
import time
import tracemalloc

import pytest
from tests.collector import (
    ADMIN,
    ADMIN_TOKEN,
    REPORT,
    REPORTS,
    batch_of,
    bearer,
    campaign,
    collecting,
    new,
    reports_of,
    serving,
    stored,
    tokens,
)

from hushcount import ldp
from hushcount.ldp.wire.batch import pack_batch
from hushcount.service import app, openapi
from hushcount.service.admin import Administrator
from hushcount.service.collector import MOST_IN_BATCH
from hushcount.service.routes.table import ROUTES
from hushcount.service.store.store import CollectorStore

JSON = {"Content-Type": "application/json"}
NOBODY = "/v1/campaigns/" + "0" * 64


@pytest.fixture
def client(tmp_path):
    with collecting(tmp_path / "store.db") as client:
        yield client


def refused(answer, status):
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert set(answer.json()) == {"type", "title", "status"}
    assert answer.json()["status"] == status
    return answer


def test_a_report_counts_once(client):
    path = new(client, campaign())
    manifest = ldp.Manifest.parse(client.get(f"{path}/manifest").content)
    (report,) = reports_of(manifest, 1)
    assert client.post(f"{path}/reports", headers=REPORT, content=report).status_code == 202
    refused(client.post(f"{path}/reports", headers=REPORT, content=report), 409)
    assert stored(client, path) == 1


def test_a_batch_counts_each_report_once(client):
    path = new(client, manifest := campaign())
    reports = reports_of(manifest, 30)
    first = client.post(f"{path}/reports", headers=REPORTS | ADMIN, content=batch_of(reports[:20]))
    assert (first.status_code, first.json()) == (202, {"accepted": 20, "duplicates": 0})
    second = client.post(f"{path}/reports", headers=REPORTS | ADMIN, content=batch_of(reports[10:]))
    assert second.json() == {"accepted": 10, "duplicates": 10}
    doubled = client.post(f"{path}/reports", headers=REPORTS | ADMIN, content=batch_of([reports[0]] * 3))
    assert doubled.json() == {"accepted": 0, "duplicates": 3}
    assert stored(client, path) == 30


def test_a_campaign_is_made_once(client):
    path = new(client, manifest := campaign())
    assert new(client, manifest) == path
    body = b'{"manifest": ' + manifest.to_json().encode() + b', "access": "token"}'
    refused(client.post("/v1/campaigns", headers=ADMIN | JSON, content=body), 409)
    assert client.delete(path, headers=ADMIN).status_code == 204
    refused(client.get(f"{path}/manifest"), 410)
    body = b'{"manifest": ' + manifest.to_json().encode() + b"}"
    refused(client.post("/v1/campaigns", headers=ADMIN | JSON, content=body), 409)


def test_several_reports_of_a_user_need_open_access(client):
    several = ldp.TreeHist(ldp.Integers(8), epsilon=4.0, users=20_000, threshold=4_000, reports=2).manifest
    body = b'{"manifest": ' + several.to_json().encode() + b', "access": "token"}'
    answer = refused(client.post("/v1/campaigns", headers=ADMIN | JSON, content=body), 422)
    assert answer.json()["title"].startswith("A client's token is good for one report")
    new(client, several)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff", 400),
        (b"[]", 422),
        (b'{"manifest": {}}', 422),
        (b'{"manifest": 1, "more": 2}', 422),
        (b'{"manifest": {}, "access": "all"}', 422),
        (b'{"manifest": {}, "origins": ["https://a/b"]}', 422),
        (b"[" * 100_000, 422),
    ],
)
def test_bad_campaigns(client, body, status):
    answer = client.post("/v1/campaigns", headers=ADMIN | JSON, content=body)
    refused(answer, answer.status_code)
    assert answer.status_code in (status, 400)


def test_no_batch_must_be_larger_than_a_body(client):
    terms = ldp.Terms(relay="a relay", min_batch=MOST_IN_BATCH + 1)
    body = b'{"manifest": ' + campaign(terms=terms).to_json().encode() + b"}"
    refused(client.post("/v1/campaigns", headers=ADMIN | JSON, content=body), 422)


def test_only_manifests_that_can_be_collected(client):
    old = ldp.ExplicitHist(ldp.Integers(8), epsilon=2.0, users=100, expires=int(time.time()) + 99)
    fields = old.manifest
    expired = campaign(expires=1000)
    first = (
        ldp.Manifest(
            fields.protocol,
            fields.encoding,
            fields.epsilon,
            fields.groups,
            100,
            fields.expires,
            parameters=fields.parameters,
            version=1,
        )
        if fields.groups[0].symbol_bits <= 5
        else None
    )
    for manifest in filter(None, (expired, first)):
        body = b'{"manifest": ' + manifest.to_json().encode() + b"}"
        refused(client.post("/v1/campaigns", headers=ADMIN | JSON, content=body), 422)
    assert client.get("/v1/campaigns", headers=ADMIN).json() == {"campaigns": []}


def test_tokens(client):
    path, other = new(client, manifest := campaign(), access=b'"token"'), new(client, campaign())
    good, used, relay = (*tokens(client, path, 2), *tokens(client, path, 1, "relay"))
    (foreign,) = tokens(client, other)
    reports = reports_of(manifest, 5)

    def send(report, **headers):
        return client.post(f"{path}/reports", headers=REPORT | headers, content=report)

    refused(send(reports[0]), 401)
    refused(send(reports[0], **bearer("wrong")), 401)
    refused(send(reports[0], Authorization="Basic eA=="), 401)
    refused(send(reports[0], **bearer(foreign)), 403)
    refused(send(reports[0], **bearer(relay)), 403)
    refused(send(reports[0], **ADMIN), 403)
    assert stored(client, path) == 0
    assert send(reports[0], **bearer(used)).status_code == 202
    refused(send(reports[1], **bearer(used)), 409)
    refused(send(reports[0], **bearer(good)), 409)
    assert send(reports[2], **bearer(good)).status_code == 202, "a duplicate spends no token"
    for token, status in ((good, 403), ("wrong", 401)):
        refused(client.get(path, headers=bearer(token)), status)
        sent = client.post(f"{path}/reports", headers=REPORTS | bearer(token), content=batch_of(reports))
        refused(sent, status)
    assert stored(client, path) == 2


def test_an_ended_campaign(tmp_path):
    now = [time.time()]
    with collecting(tmp_path / "store.db", lambda: now[0]) as client:
        path = new(client, manifest := campaign())
        first, second = reports_of(manifest, 2)
        client.post(f"{path}/reports", headers=REPORT, content=first)
        now[0] += 4000
        refused(client.post(f"{path}/reports", headers=REPORT, content=first), 409)
        refused(client.post(f"{path}/reports", headers=REPORT, content=second), 410)
        refused(client.post(f"{path}/reports", headers=REPORTS | ADMIN, content=batch_of([second])), 410)
        refused(client.post(f"{path}/tokens", headers=ADMIN, json={}), 410)
        assert stored(client, path) == 1


def test_a_closed_campaign(client):
    path = new(client, manifest := campaign())
    first, second = reports_of(manifest, 2)
    client.post(f"{path}/reports", headers=REPORT, content=first)
    assert client.post(f"{path}/close", headers=ADMIN).json()["state"] == "closed"
    refused(client.post(f"{path}/reports", headers=REPORT, content=first), 409)
    refused(client.post(f"{path}/reports", headers=REPORT, content=second), 410)
    assert client.post(f"{path}/close", headers=ADMIN).status_code == 200


def test_malformed_reports(client):
    path = new(client, manifest := campaign())
    (report,) = reports_of(manifest, 1)
    bad = [
        b"",
        report[:-1],
        report + b"x",
        b"\1" + report[1:],
        report[:1] + bytes(8) + report[9:],
        report[:-2] + b"\xff\xff",
        bytes(1000),
    ]
    for each in bad:
        refused(client.post(f"{path}/reports", headers=REPORT, content=each), 422)
    batch = batch_of(reports_of(manifest, 9))
    for each in (
        b"",
        batch[:-1],
        batch[1:],
        batch[:40] + b"x" + batch[41:],
        pack_batch(bad[3]),
        pack_batch(bad[5]),
    ):
        refused(client.post(f"{path}/reports", headers=REPORTS | ADMIN, content=each), 422)
    refused(client.post(f"{path}/reports", headers=JSON, content=report), 415)
    refused(client.post(f"{path}/reports", content=report), 415)
    assert stored(client, path) == 0


def test_large_bodies(client):
    path = new(client, campaign())
    too_large = str((32 << 20) + 1)
    refused(client.post(f"{path}/reports", headers=REPORT | {"Content-Length": too_large}, content=b""), 413)

    def parts():
        for _ in range(33):
            yield bytes(1 << 20)

    refused(client.post(f"{path}/reports", headers=REPORTS | ADMIN, content=parts()), 413)
    refused(client.post(f"{path}/reports", headers=REPORT, content=parts()), 413)
    refused(client.post(f"{path}/reports", headers=REPORT, content=iter([bytes(27), bytes(1 << 20)])), 422)


def test_a_large_body_is_not_held_in_memory(tmp_path):
    manifest = campaign()
    manifest.save(tmp_path / "manifest.json")
    with serving(tmp_path / "store.db") as (_, url):
        Administrator(url, ADMIN_TOKEN).make(str(tmp_path / "manifest.json"), "open", ())
        connection = http.client.HTTPConnection(url.removeprefix("http://"))
        parts = (bytes(1 << 20) for _ in range(31))
        tracemalloc.start()
        try:
            connection.request("POST", f"/v1/campaigns/{manifest.id}/reports", parts, REPORT)
            assert connection.getresponse().status == 422
            assert tracemalloc.get_traced_memory()[1] < 8 << 20
        finally:
            tracemalloc.stop()
            connection.close()


def test_a_relay_campaign(client):
    terms = ldp.Terms(relay="a relay", min_batch=50)
    path = new(client, manifest := campaign(terms=terms))
    (relay,) = tokens(client, path, role="relay")
    reports = reports_of(manifest, 200)

    def send(body):
        return client.post(f"{path}/reports", headers=REPORTS | bearer(relay), content=body)

    refused(client.post(f"{path}/reports", headers=REPORT, content=reports[0]), 403)
    refused(send(batch_of(reports[:49])), 422)
    refused(send(pack_batch(sorted(reports[:60], key=lambda report: report[9:25], reverse=True))), 422)
    refused(send(batch_of(reports[:49] + reports[:1])), 422)
    first = batch_of(reports[:60])
    assert send(first).json() == {"accepted": 60, "duplicates": 0}
    assert send(first).json() == {"accepted": 0, "duplicates": 60}
    refused(send(batch_of(reports[59:150])), 422)
    assert send(batch_of(reports[60:150])).json() == {"accepted": 90, "duplicates": 0}
    assert stored(client, path) == 150


def test_release(client):
    path = new(client, manifest := campaign(), origins=b'["https://page.example"]')
    refused(client.post(f"{path}/release", headers=ADMIN), 409)
    client.post(f"{path}/reports", headers=REPORTS | ADMIN, content=batch_of(reports_of(manifest, 800)))
    refused(client.get(f"{path}/heavy-hitters"), 403)
    refused(client.get(f"{path}/frequencies?item=7"), 401)
    assert client.get(f"{path}/heavy-hitters", headers=ADMIN).json()["rows"][0]["key"] == 7
    refused(client.post(f"{path}/release", headers=ADMIN, json={"threshold": -1}), 422)
    refused(client.post(f"{path}/release", headers=ADMIN, json={"threshold": "x"}), 422)
    made = client.post(f"{path}/release", headers=ADMIN, json={"limit": 5})
    assert made.json()["rows"][0]["key"] == 7
    assert client.get(f"{path}/heavy-hitters").json() == made.json()
    rows = client.get(f"{path}/frequencies?item=7&item=9").json()["rows"]
    standard_errors = 1.96  # in half a .95 interval; six of them hold but once in 5e8 runs
    half = (rows[0]["upper"] - rows[0]["lower"]) / 2
    assert abs(rows[0]["lower"] + half - 800) <= 6 / standard_errors * half
    assert rows[1]["lower"] < 400
    refused(client.get(f"{path}/frequencies?item=tea"), 422)
    refused(client.get(f"{path}/frequencies"), 422)
    assert client.get(f"{path}/check", headers=ADMIN).json()["suspicious"] == []


def test_a_campaign_without_a_threshold_is_released_with_one(client):
    plain = campaign()
    manifest = dataclasses.replace(plain, parameters={})
    path = new(client, manifest)
    client.post(f"{path}/reports", headers=REPORTS | ADMIN, content=batch_of(reports_of(manifest, 800)))
    refused(client.post(f"{path}/release", headers=ADMIN), 422)
    refused(client.get(f"{path}/heavy-hitters", headers=ADMIN), 422)
    assert client.post(f"{path}/release", headers=ADMIN, json={"threshold": 400}).status_code == 200


def test_what_is_deleted_stays_so(client):
    path = new(client, manifest := campaign())
    assert client.delete(path, headers=ADMIN).status_code == 204
    store = CollectorStore(client.collector.settings.store)
    store.campaigns.release(manifest.id, "a result that was computed meanwhile")
    rows = store._database.rows("SELECT released, manifest FROM campaign WHERE id = ?", manifest.id)
    store.close()
    assert rows == [(None, "")]


def test_fakes_are_seen(client):
    path = new(client, manifest := campaign())
    fakes = [
        report[:9] + bytes([number % 7]) + report[10:]
        for number, report in enumerate(reports_of(manifest, 500))
    ]
    client.post(f"{path}/reports", headers=REPORTS | ADMIN, content=batch_of(fakes))
    assert "nonces" in client.get(f"{path}/check", headers=ADMIN).json()["suspicious"]


def test_pages_of_chosen_origins_may_ask(client):
    path = new(client, campaign(), origins=b'["https://page.example"]')
    asked = client.options(f"{path}/reports", headers={"Origin": "https://page.example"})
    assert asked.status_code == 204
    assert asked.headers["Access-Control-Allow-Origin"] == "https://page.example"
    assert "POST" in asked.headers["Access-Control-Allow-Methods"]
    assert (
        client.get(f"{path}/manifest", headers={"Origin": "https://page.example"}).headers["Vary"] == "Origin"
    )
    other = client.options(f"{path}/reports", headers={"Origin": "https://other.example"})
    assert "Access-Control-Allow-Origin" not in other.headers
    assert "Access-Control-Allow-Origin" not in client.get("/healthz", headers={"Origin": "null"}).headers


def test_unknown_paths_and_methods(client):
    refused(client.get("/v2"), 404)
    refused(client.get(f"{NOBODY}/manifest"), 404)
    refused(client.get("/v1/campaigns/", headers=ADMIN, follow_redirects=False), 404)
    for odd in ("%00", "0" * 63, "0" * 64 + "%0a", "%3Fx", "A" * 64):
        refused(client.get(f"/v1/campaigns/{odd}/manifest"), 404)
    refused(client.get(NOBODY, headers=ADMIN), 404)
    refused(client.get(NOBODY), 401)
    answer = refused(client.put(NOBODY), 405)
    assert {"GET", "DELETE"} <= set(answer.headers["Allow"].split(", "))


def test_what_is_open_to_all_names_no_campaign(client):
    path = new(client, campaign())
    for place in ("/", "/healthz", "/readyz", "/metrics", "/v1/keys", "/v1/openapi.json"):
        answer = client.get(place)
        assert answer.status_code == 200
        assert path.rpartition("/")[2][:8] not in answer.text


def test_too_many_requests(tmp_path):
    with collecting(tmp_path / "store.db", rate=1.0) as client:
        statuses = [client.get("/healthz").status_code for _ in range(30)]
    assert statuses.count(200) >= 10
    assert statuses[-1] == 429


def test_the_document_is_that_of_the_routes(client):
    paths = openapi.document()["paths"]
    described = {
        (path, method.upper())
        for path, methods in paths.items()
        for method in methods
        if method != "parameters"
    }
    made = {(re.sub(":str", "", path), method) for path, methods in ROUTES.items() for method in methods}
    assert described == made
    assert app.MINUTE == 60
