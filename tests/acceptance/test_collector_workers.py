"""Two workers on PostgreSQL give the same result as one on SQLite, each report counted once."""

import json
from concurrent.futures import ThreadPoolExecutor

from tests.collector import ADMIN_TOKEN, batch_of, campaign, reports_of, serving
from tests.postgresql import location, postgresql_server  # noqa: F401

from hushcount.ldp.client.http import ask
from hushcount.service.admin import Administrator

REPORT, REPORTS = "application/vnd.hushcount.report", "application/vnd.hushcount.reports"


def collected(stores, manifest, parts, folder):
    """The release of workers that share a store, to which every part is sent by two clients at once."""
    manifest.save(folder / "manifest.json")
    with serving(stores) as (_, first), serving(stores) as (_, second):
        urls = (first, second)
        Administrator(first, ADMIN_TOKEN).make(str(folder / "manifest.json"), "open", ())

        def send(number):
            place = f"{urls[number % 2]}/v1/campaigns/{manifest.id}/reports"
            part = parts[number // 2]
            if len(part) == 1:
                return ask("POST", place, None, part[0], REPORT).status
            return ask("POST", place, ADMIN_TOKEN, batch_of(part), REPORTS).status

        with ThreadPoolExecutor(4) as pool:
            statuses = set(pool.map(send, range(2 * len(parts))))
        admin = Administrator(second, ADMIN_TOKEN)
        assert statuses == {202, 409}
        assert admin.status(manifest.id)["reports"] == sum(map(len, parts))
        return json.loads(json.dumps(admin.release(manifest.id, 150.0, None)["rows"]))


def test_the_same_result(location, tmp_path):  # noqa: F811
    manifest = campaign()
    reports = reports_of(manifest, 400) + reports_of(manifest, 400, item=9)
    parts = [reports[at : at + 100] for at in range(0, 700, 100)] + [[each] for each in reports[700:]]
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    shared = collected(location, manifest, parts, tmp_path / "one")
    alone = collected(tmp_path / "alone.db", manifest, parts, tmp_path / "two")
    assert shared == alone
    assert {row["key"] for row in shared[:2]} == {7, 9}
