"""A service that is asked to stop writes what waits; while it runs it may hold many connections."""

import resource
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.collector import ADMIN_TOKEN, REPORT, campaign, reports_of, serving

from hushcount.errors import ParameterError
from hushcount.ldp.client.http import ask
from hushcount.service import serve
from hushcount.service.admin import Administrator
from hushcount.service.serve import Listening
from hushcount.service.store.store import CollectorStore

WAITING = 20


def test_a_stop_writes_what_waits(tmp_path):
    manifest = campaign()
    manifest.save(tmp_path / "manifest.json")
    reports = reports_of(manifest, WAITING)
    with ThreadPoolExecutor(WAITING) as pool:
        with serving(tmp_path / "store.db", smallest_group=1000, longest_wait=60.0) as (collector, url):
            Administrator(url, ADMIN_TOKEN).make(str(tmp_path / "manifest.json"), "open", ())
            place = f"{url}/v1/campaigns/{manifest.id}/reports"
            sent = [pool.submit(ask, "POST", place, None, each, REPORT["Content-Type"]) for each in reports]
            while sum(len(each.reports) for each in collector.groups._waiting.values()) < WAITING:
                time.sleep(0.01)
            began = time.monotonic()
        assert time.monotonic() - began < 30, "it does not wait for a minute"
        assert [each.result().status for each in sent] == [202] * WAITING
    store = CollectorStore(str(tmp_path / "store.db"))
    assert store.campaigns.get(manifest.id).reports == WAITING
    assert store.campaigns.get(manifest.id).batches == 1
    store.close()


@pytest.mark.parametrize("place", ["here", ":80", "a:", "a:70000", "a:x"])
def test_places(place):
    with pytest.raises(ParameterError, match="HOST:PORT"):
        Listening(listen=place).place()
    assert Listening(listen="[::1]:80").place() == ("::1", 80)


def test_the_number_of_connections_is_bounded_by_the_files_that_may_be_open(monkeypatch):
    asked = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: asked.append(limits))
    assert serve._most_connections() == 4096 - 256
    assert asked == [(4096, 4096)]
