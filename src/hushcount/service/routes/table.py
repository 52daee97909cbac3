"""Every path of the collector, and what answers each of its methods."""

from __future__ import annotations

from hushcount.service.routes import campaigns, pages, reports, results, status
from hushcount.service.routes.asking import Handler

ONE = "/v1/campaigns/{id:str}"
ROUTES: dict[str, dict[str, Handler]] = {
    "/": {"GET": pages.front},
    "/healthz": {"GET": pages.health},
    "/readyz": {"GET": pages.ready},
    "/metrics": {"GET": pages.metrics},
    "/v1/openapi.json": {"GET": pages.openapi},
    "/v1/keys": {"GET": pages.keys},
    "/v1/campaigns": {"GET": campaigns.campaigns, "POST": campaigns.make},
    ONE: {"GET": status.status, "DELETE": campaigns.delete},
    f"{ONE}/manifest": {"GET": campaigns.manifest},
    f"{ONE}/tokens": {"POST": campaigns.tokens},
    f"{ONE}/reports": {"POST": reports.add},
    f"{ONE}/release": {"POST": results.release},
    f"{ONE}/close": {"POST": campaigns.close},
    f"{ONE}/heavy-hitters": {"GET": results.heavy_hitters},
    f"{ONE}/frequencies": {"GET": results.frequencies},
    f"{ONE}/check": {"GET": results.check},
}
