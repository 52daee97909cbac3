"""What an anonymous campaign charges to a ledger: its central pair, once, and before anything is released."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from tests.collector import ADMIN, REPORTS, batch_of, bearer, campaign, collecting, new, reports_of, tokens

import hushcount as hc
from hushcount import ldp
from hushcount.ldp.wire.terms import PROMISE
from hushcount.service.collector import MOST_ASKING

MIN_BATCH = 1000
TERMS = ldp.Terms(
    relay="a relay",
    min_batch=MIN_BATCH,
    central_epsilon="1.5",
    central_delta="0.000001",
    promise=PROMISE,
)


def test_the_central_pair_is_charged_once(tmp_path):
    ledger = hc.Ledger(str(tmp_path / "spent.db"))
    ledger.init("words", epsilon=2, delta=1e-5, slack=0, unit="user")
    with collecting(tmp_path / "store.db", ledger=str(tmp_path / "spent.db"), dataset="words") as client:
        path = new(client, manifest := campaign(terms=TERMS))
        (relay,) = tokens(client, path, role="relay")
        for turn in range(2):
            body = batch_of(reports_of(manifest, MIN_BATCH))
            sent = client.post(f"{path}/reports", headers=REPORTS | bearer(relay), content=body)
            assert sent.status_code == 202, sent.text
            released = client.post(f"{path}/release", headers=ADMIN)
            assert released.status_code == 200, released.text
            assert released.json()["guarantee"]["parameters"]["reports"] == (turn + 1) * MIN_BATCH
            spent = ledger.show("words")[0]["spent"]
            assert (spent["epsilon"], spent["delta"]) == ("1.5", "1e-6")
        path = new(client, manifest := campaign(terms=TERMS))
        (relay,) = tokens(client, path, role="relay")
        body = batch_of(reports_of(manifest, MIN_BATCH))
        client.post(f"{path}/reports", headers=REPORTS | bearer(relay), content=body)
        refused = client.post(f"{path}/release", headers=ADMIN)
        assert refused.status_code == 409
        assert client.get(f"{path}/heavy-hitters").status_code == 403, "nothing was released"


def test_it_is_charged_before_anybody_sees_an_estimate(tmp_path):
    ledger = hc.Ledger(str(tmp_path / "spent.db"))
    ledger.init("words", epsilon=2, delta=1e-5, slack=0, unit="user")
    with collecting(tmp_path / "store.db", ledger=str(tmp_path / "spent.db"), dataset="words") as client:

        def filled():
            path = new(client, manifest := campaign(terms=TERMS))
            (relay,) = tokens(client, path, role="relay")
            body = batch_of(reports_of(manifest, MIN_BATCH))
            assert client.post(f"{path}/reports", headers=REPORTS | bearer(relay), content=body).is_success
            return path

        first, second = filled(), filled()
        for question in ("heavy-hitters", "frequencies?item=7", "heavy-hitters"):
            assert client.get(f"{first}/{question}", headers=ADMIN).status_code == 200
            assert ledger.show("words")[0]["spent"]["epsilon"] == "1.5"
        for question in ("heavy-hitters", "frequencies?item=7", "check"):
            assert client.get(f"{second}/{question}", headers=ADMIN).status_code == 409
        assert client.post(f"{first}/release", headers=ADMIN).status_code == 200
        assert ledger.show("words")[0]["spent"]["epsilon"] == "1.5"


def test_the_check_of_reports_is_charged_once_it_draws_on_any(tmp_path):
    ledger = hc.Ledger(str(tmp_path / "spent.db"))
    ledger.init("words", epsilon=2, delta=1e-5, slack=0, unit="user")
    with collecting(tmp_path / "store.db", ledger=str(tmp_path / "spent.db"), dataset="words") as client:
        path = new(client, manifest := campaign(terms=TERMS))
        assert client.get(f"{path}/check", headers=ADMIN).status_code == 409
        assert ledger.show("words")[0]["spent"]["epsilon"] == "0"
        (relay,) = tokens(client, path, role="relay")
        body = batch_of(reports_of(manifest, MIN_BATCH))
        assert client.post(f"{path}/reports", headers=REPORTS | bearer(relay), content=body).is_success
        for _ in range(2):
            assert client.get(f"{path}/check", headers=ADMIN).status_code == 200
            assert ledger.show("words")[0]["spent"]["epsilon"] == "1.5"


def test_a_ledger_that_was_given_later_is_charged_by_the_next_release(tmp_path):
    with collecting(tmp_path / "store.db") as client:
        path = new(client, manifest := campaign(terms=TERMS))
        (relay,) = tokens(client, path, role="relay")
        body = batch_of(reports_of(manifest, MIN_BATCH))
        assert client.post(f"{path}/reports", headers=REPORTS | bearer(relay), content=body).is_success
        assert client.post(f"{path}/release", headers=ADMIN).status_code == 200
    ledger = hc.Ledger(str(tmp_path / "spent.db"))
    ledger.init("words", epsilon=2, delta=1e-5, slack=0, unit="user")
    with collecting(tmp_path / "store.db", ledger=str(tmp_path / "spent.db"), dataset="words") as client:
        assert client.post(f"{path}/release", headers=ADMIN).status_code == 200
    assert ledger.show("words")[0]["spent"]["epsilon"] == "1.5"


def test_so_many_questions_wait_and_no_more(tmp_path):
    with collecting(tmp_path / "store.db") as client:
        path = new(client, manifest := campaign())
        body = batch_of(reports_of(manifest, 500))
        client.post(f"{path}/reports", headers=REPORTS | ADMIN, content=body)
        assert client.post(f"{path}/release", headers=ADMIN).status_code == 200
        begun, over = threading.Event(), threading.Event()

        def held(store):
            begun.set()
            over.wait(60)

        with ThreadPoolExecutor(40) as pool:
            pool.submit(client.portal.call, client.collector.answering.do, held)
            begun.wait(60)
            asked = [pool.submit(client.get, f"{path}/frequencies?item=7") for _ in range(MOST_ASKING + 9)]
            while sum(each.done() for each in asked) < 9:
                time.sleep(0.01)
            over.set()
        statuses = [each.result().status_code for each in asked]
        assert sorted(statuses) == [200] * MOST_ASKING + [503] * 9
        refused = next(each.result() for each in asked if each.result().status_code == 503)
        assert int(refused.headers["Retry-After"]) > 0


def test_a_local_campaign_charges_nothing(tmp_path):
    ledger = hc.Ledger(str(tmp_path / "spent.db"))
    ledger.init("words", epsilon=2, delta=1e-5, slack=0, unit="user")
    with collecting(tmp_path / "store.db", ledger=str(tmp_path / "spent.db"), dataset="words") as client:
        path = new(client, manifest := campaign())
        body = batch_of(reports_of(manifest, 500))
        client.post(f"{path}/reports", headers=REPORTS | ADMIN, content=body)
        assert client.post(f"{path}/release", headers=ADMIN).status_code == 200
    assert ledger.show("words")[0]["spent"]["epsilon"] == "0"
