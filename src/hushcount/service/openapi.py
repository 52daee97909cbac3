"""The OpenAPI document: every route, what it takes, and every status that it may answer.

A test compares it with the routes, and another sends what the document allows and much that it does not.
"""

from __future__ import annotations

from typing import TypeAlias

from hushcount.ldp.wire.sealing import SEALED_BYTES
from hushcount.ldp.wire.versions import DRAWN
from hushcount.service.bodies import JSON, MOST_BODY, MOST_TOKENS, REPORT, REPORTS, SEALED_REPORTS
from hushcount.service.problems import PROBLEM, TITLES

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
_ALWAYS = (405, 429, 500)
_OF_ADMIN = (401, 403, 503)
_OF_ONE = (404, 410, 503)
_OF_BODY = (400, 408, 413, 415, 422)
_ID = "/v1/campaigns/{id}"


def document() -> dict[str, Json]:
    """Return the document of the collector."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "hushcount collector",
            "version": "1",
            "description": "Campaigns of the local model: reports are randomised before they are sent.",
        },
        "paths": _paths(),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Problem": _PROBLEM},
        },
    }


def _paths() -> dict[str, Json]:
    """Return all paths."""
    general: dict[str, Json] = {
        "/": {"get": _open("The dashboard.", kind="text/html")},
        "/healthz": {"get": _open("Say that the process runs.")},
        "/readyz": {"get": _open("Say whether the store answers.", 503)},
        "/metrics": {"get": _open("Counters in the format of Prometheus.", kind="text/plain")},
        "/v1/openapi.json": {"get": _open("This document.")},
        "/v1/keys": {"get": _open("The key to which reports are sealed.", 503)},
        "/v1/campaigns": {
            "get": _operation("List the campaigns.", {200: JSON}, _OF_ADMIN, token=True),
            "post": _operation(
                "Make a campaign. The same again is answered by 200.",
                {200: JSON, 201: JSON},
                (*_OF_ADMIN, *_OF_BODY, 409),
                token=True,
                body=_json(_CAMPAIGN),
            ),
        },
    }
    return general | _paths_of_one()


def _paths_of_one() -> dict[str, Json]:
    """Return the paths of one campaign."""
    return {
        _ID: {
            "parameters": [_CAMPAIGN_ID],
            "get": _admin("How far a campaign is.", {200: JSON}),
            "delete": _admin("Delete all of a campaign but its id.", {204: None}),
        },
        f"{_ID}/manifest": _one("get", _operation("The manifest.", {200: JSON}, _OF_ONE)),
        f"{_ID}/tokens": _one(
            "post",
            _admin("Issue tokens.", {201: JSON}, *_OF_BODY, body=_json(_TOKENS)),
        ),
        f"{_ID}/reports": _one("post", _take_reports()),
        f"{_ID}/release": _one(
            "post",
            _admin(
                "Find the heavy hitters and publish them.",
                {200: JSON},
                *(*_OF_BODY, 409),
                body=_json(_RELEASE, required=False),
            ),
        ),
        f"{_ID}/close": _one("post", _admin("Take no more reports.", {200: JSON})),
        f"{_ID}/check": _one("get", _admin("Do the reports look honest?", {200: JSON}, 409)),
        f"{_ID}/heavy-hitters": _one(
            "get",
            _operation("What was released.", {200: JSON}, (*_OF_ONE, 401, 403, 409, 422), token=True),
        ),
        f"{_ID}/frequencies": _one(
            "get",
            _operation(
                "Estimated counts of chosen items.",
                {200: JSON},
                (*_OF_ONE, 401, 403, 409, 422),
                token=True,
            )
            | {"parameters": [_ITEM]},
        ),
    }


def _take_reports() -> dict[str, Json]:
    """Return the operation that takes reports."""
    body: Json = {
        "required": True,
        "content": {
            REPORT: {"schema": _octets(f"One report of {DRAWN.report_bytes} bytes.")},
            REPORTS: {"schema": _octets(f"A batch (HCB2) of at most {MOST_BODY} bytes.")},
            SEALED_REPORTS: {"schema": _octets(f"A batch (HCS1) of reports of {SEALED_BYTES} bytes.")},
        },
    }
    return _operation(
        "Store one report, or a batch whole or not at all. After 202 they are on disk.",
        {202: JSON},
        (*_OF_ONE, *_OF_BODY, 401, 403, 409),
        token=True,
        body=body,
    )


def _operation(
    summary: str,
    good: dict[int, str | None],
    bad: tuple[int, ...] = (),
    *,
    token: bool = False,
    body: Json = None,
) -> dict[str, Json]:
    """Return one operation."""
    answers: dict[str, Json] = {str(status): _good(kind) for status, kind in good.items()}
    answers |= {str(status): _bad(status) for status in sorted({*bad, *_ALWAYS})}
    made: dict[str, Json] = {"summary": summary, "responses": answers}
    if token:
        made["security"] = [{"token": []}, {}]
    if body is not None:
        made["requestBody"] = body
    return made


def _admin(summary: str, good: dict[int, str | None], *bad: int, body: Json = None) -> dict[str, Json]:
    """Return an operation of the administrator on one campaign."""
    return _operation(summary, good, (*_OF_ONE, *_OF_ADMIN, *bad), token=True, body=body)


def _open(summary: str, *bad: int, kind: str = JSON) -> dict[str, Json]:
    """Return an operation that is open to all."""
    return _operation(summary, {200: kind}, bad)


def _one(method: str, operation: dict[str, Json]) -> dict[str, Json]:
    """Return a path of one campaign with one method."""
    return {"parameters": [_CAMPAIGN_ID], method: operation}


def _good(kind: str | None) -> Json:
    """Return an answer of a kind."""
    if kind is None:
        return {"description": "Done."}
    return {"description": "Done.", "content": {kind: {"schema": {}}}}


def _bad(status: int) -> Json:
    """Return the answer to a refused request."""
    schema: Json = {"$ref": "#/components/schemas/Problem"}
    return {"description": TITLES[status], "content": {PROBLEM: {"schema": schema}}}


def _json(schema: Json, required: bool = True) -> Json:
    """Return a body of JSON."""
    return {"required": required, "content": {JSON: {"schema": schema}}}


def _octets(words: str) -> Json:
    """Return the schema of a binary body."""
    return {"type": "string", "format": "binary", "description": words}


def _object(required: list[Json], **properties: Json) -> Json:
    """Return the schema of an object without other members."""
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


_CAMPAIGN_ID: Json = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "The id of the campaign, the SHA-256 of its manifest.",
    "schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
}
_ITEM: Json = {
    "name": "item",
    "in": "query",
    "required": True,
    "description": "An item; repeat it for several.",
    "schema": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 1000},
}
_CAMPAIGN = _object(
    ["manifest"],
    manifest={"type": "object", "description": "What hushcount ldp new writes."},
    access={"enum": ["open", "token"], "default": "open"},
    origins={"type": "array", "items": {"type": "string"}, "default": []},
)
_TOKENS = _object(
    [],
    count={"type": "integer", "minimum": 1, "maximum": MOST_TOKENS, "default": 1},
    role={"enum": ["client", "relay"], "default": "client"},
)
_RELEASE = _object(
    [],
    threshold={"type": ["number", "null"], "exclusiveMinimum": 0},
    limit={"type": ["integer", "null"], "minimum": 0},
)
_PROBLEM: Json = {
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
    },
    "required": ["type", "title", "status"],
    "additionalProperties": False,
}
