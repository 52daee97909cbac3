"""Bodies and requests that nobody would send: refused, without a failure and without a partial write."""

import random
from contextlib import suppress

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.collector import (
    ADMIN,
    ADMIN_TOKEN,
    REPORT,
    REPORTS,
    SEALED_REPORTS,
    batch_of,
    campaign,
    collecting,
    new,
    reports_of,
    serving,
    stored,
)

from hushcount.ldp.client.http import ask
from hushcount.service.openapi import document

ROUNDS = 400


def damaged(octets, generator):
    """Bytes with a few places changed, cut, doubled or filled."""
    made = bytearray(octets)
    for _ in range(generator.randrange(1, 4)):
        at = generator.randrange(len(made) + 1)
        kind = generator.randrange(4)
        if kind == 0 and at < len(made):
            made[at] ^= 1 << generator.randrange(8)
        elif kind == 1:
            del made[at : at + generator.randrange(1, 40)]
        elif kind == 2:
            made[at:at] = generator.randbytes(generator.randrange(1, 40))
        else:
            made[at:at] = made[at : at + 27]
    return bytes(made)


@pytest.mark.parametrize("seed", range(3))
def test_damaged_bodies_store_nothing(tmp_path, seed):
    generator = random.Random(seed)
    with collecting(tmp_path / "store.db") as client:
        path = new(client, manifest := campaign())
        reports = reports_of(manifest, 20)
        good = {REPORT["Content-Type"]: reports[0], REPORTS["Content-Type"]: batch_of(reports)}
        good |= {SEALED_REPORTS["Content-Type"]: b"HCS1" + batch_of(reports)[4:]}
        taken = set()
        for _ in range(ROUNDS):
            kind = generator.choice(list(good))
            body = damaged(good[kind], generator)
            headers = ADMIN | {"Content-Type": kind}
            answer = client.post(f"{path}/reports", headers=headers, content=body)
            assert answer.status_code in (202, 409, 422), answer.text
            if answer.status_code == 202 and kind == REPORT["Content-Type"]:
                taken.add(body[9:25])  # a change of nonce or symbol makes another report
        assert stored(client, path) == len(taken)
        manifest_text = b'{"manifest": ' + manifest.to_json().encode() + b', "access": "open"}'
        for _ in range(ROUNDS // 4):
            body = damaged(manifest_text, generator)
            answer = client.post(
                "/v1/campaigns", headers=ADMIN | {"Content-Type": "application/json"}, content=body
            )
            assert answer.status_code in (200, 400, 409, 422), answer.text
        assert len(client.get("/v1/campaigns", headers=ADMIN).json()["campaigns"]) == 1


@schemathesis.serializer(*(each["Content-Type"] for each in (REPORT, REPORTS, SEALED_REPORTS)))
def octets(_, value):
    """A binary body as it stands; whatever else is drawn, as text."""
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    return str(value).encode("utf-8", "surrogatepass")


CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
OPERATIONS = [
    (path, method)
    for path, methods in document()["paths"].items()
    for method in methods
    if method != "parameters"
]


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A collector that listens, with a campaign that has reports."""
    manifest = campaign()
    with serving(tmp_path_factory.mktemp("fuzzed") / "store.db") as (_, url):
        body = b'{"manifest": ' + manifest.to_json().encode() + b"}"
        assert ask("POST", f"{url}/v1/campaigns", ADMIN_TOKEN, body).status == 201
        place = f"{url}/v1/campaigns/{manifest.id}/reports"
        batch = batch_of(reports_of(manifest, 600))
        assert ask("POST", place, ADMIN_TOKEN, batch, REPORTS["Content-Type"]).status == 202
        yield url, manifest.id


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("token", [None, "a token of nobody", ADMIN_TOKEN])
@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_the_document_holds(running, path, method, token):
    """schemathesis sends what the document allows, and what it does not: no 500, and only what is stated."""
    url, campaign_id = running
    operation = schemathesis.openapi.from_dict(document())[path][method.upper()]
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        drawn = operation.as_strategy(generation_mode=mode)

        @settings(max_examples=6, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(case=drawn)
        def check(case):
            if method != "delete" and "id" in (case.path_parameters or {}):
                case.path_parameters["id"] = campaign_id
            case.headers.pop("Authorization", None)
            answer = case.call(base_url=url, headers=headers)
            case.validate_response(answer, checks=CHECKS)

        with suppress(Unsatisfiable):  # nothing about this operation can be wrong
            check()
