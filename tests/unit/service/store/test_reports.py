"""What a process knows of a store stays right when a transaction fails, and when the store is another."""

import pytest
from tests.collector import campaign, reports_of

from hushcount.errors import DataError
from hushcount.service.store import reports
from hushcount.service.store.batch import read_reports
from hushcount.service.store.reports import Outcome, RelayBatch, Single
from hushcount.service.store.store import CollectorStore

NOW = 1_800_000_000.0


@pytest.fixture
def made(tmp_path):
    """A store with a campaign of whole numbers, and its manifest."""
    store, manifest = CollectorStore(str(tmp_path / "store.db")), campaign(expires=int(NOW) + 1000)
    store.campaigns.add(manifest, "open", ())
    yield store, manifest
    store.close()


def batch(manifest, sent, digest):
    return RelayBatch(read_reports(b"".join(sent), manifest).batch, digest)


def test_a_failure_forgets_nothing_and_learns_nothing(made, monkeypatch):
    store, manifest = made
    first, second = reports_of(manifest, 20), reports_of(manifest, 20)
    assert store.reports.add_batch(manifest, batch(manifest, first, b"1"), NOW) == (Outcome.STORED, 20)
    read = []
    monkeypatch.setattr(reports, "nonces_of", read.append)
    store._database.rows("PRAGMA query_only = ON")  # as on a full disk, every INSERT fails
    for _ in range(3):
        with pytest.raises(DataError):
            store.reports.add_batch(manifest, batch(manifest, second, b"2"), NOW)
        with pytest.raises(DataError):
            store.reports.add_singles(manifest, [Single(second[0])], NOW)
    store._database.rows("PRAGMA query_only = OFF")
    assert store.reports.add_batch(manifest, batch(manifest, second, b"2"), NOW) == (Outcome.STORED, 20)
    assert store.reports.add_singles(manifest, [Single(first[0])], NOW) == [Outcome.DONE]
    assert not read, "what this process has stored is never read again"


def test_a_store_with_fewer_batches_is_read_anew(made):
    store, manifest = made
    sent = reports_of(manifest, 20)
    store.reports.add_batch(manifest, batch(manifest, sent[:10], b"1"), NOW)
    store.reports.add_batch(manifest, batch(manifest, sent[10:], b"2"), NOW)
    with store._database.transaction():  # as in a backup of the moment after the first batch
        store._database.change("DELETE FROM batch WHERE number = 2")
        store._database.change("UPDATE campaign SET batches = 1, reports = 10")
    outcomes = store.reports.add_singles(manifest, [Single(each) for each in sent], NOW)
    assert outcomes == [Outcome.DONE] * 10 + [Outcome.STORED] * 10
