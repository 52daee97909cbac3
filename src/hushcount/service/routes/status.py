"""How far a campaign is, for its administrator."""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response

from hushcount.service import answers
from hushcount.service.collector import Collector
from hushcount.service.problems import plain
from hushcount.service.routes.asking import PRIVATE, for_admin
from hushcount.service.store.campaigns import StoredCampaign
from hushcount.service.store.reports import HOUR


async def status(collector: Collector, request: Request) -> Response:
    """Tell the administrator how far a campaign is."""
    collector.forget(request.path_params["id"])
    found = await for_admin(collector, request)
    hours = await collector.reading.do(lambda store: store.campaigns.reports_by_hour(found.manifest.id))
    manifest, terms = found.manifest, found.manifest.terms
    now = collector.clock()
    details = {
        "batches": found.batches,
        "dropped": found.dropped,
        "takes_reports": found.takes_reports(now),
        "by_relay": found.by_relay,
        "origins": list(found.origins),
        "deleted_after": moment(found.kept_until()),
        "reports_by_hour": [{"hour": moment(hour * HOUR), "reports": count} for hour, count in hours],
        "questions": [
            {"kind": question.kind, "share": share / 2**32}
            for question, share in zip(manifest.groups[0].questions, manifest.groups[0].shares, strict=True)
        ],
        "guarantees": {
            "local": {"epsilon": manifest.epsilon},
            "central": None
            if terms.central is None
            else {"epsilon": terms.central_epsilon, "delta": terms.central_delta, "batch": terms.min_batch},
        },
        "least_detectable": {
            "now": answers.least_detectable(manifest, found.reports),
            "planned": answers.least_detectable(manifest, manifest.users),
        },
        "poisoning": {"one_fake_report_moves_an_estimate_by": answers.influence(manifest)},
    }
    return plain(200, brief(found) | details, PRIVATE)


def brief(found: StoredCampaign) -> dict[str, object]:
    """Return what a list of campaigns says of each."""
    return {
        "id": found.manifest.id,
        "state": found.state,
        "access": found.access,
        "reports": found.reports,
        "users": found.manifest.users,
        "protocol": found.manifest.protocol,
        "expires": moment(found.manifest.expires),
        "released": found.released is not None,
    }


def moment(seconds: int) -> str:
    """Return a time in UTC as text; a time beyond the calendar is its last day."""
    return datetime.fromtimestamp(min(seconds, 253_402_300_799), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
