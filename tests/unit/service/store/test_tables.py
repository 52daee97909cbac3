"""Tables that are kept give what counting anew gives, and a question reads new reports only."""

import time

import pytest
from tests.collector import campaign, reports_of

from hushcount import ldp
from hushcount.ldp import registry
from hushcount.service import answers
from hushcount.service.store import tables
from hushcount.service.store.batch import read_reports
from hushcount.service.store.reports import RelayBatch
from hushcount.service.store.store import CollectorStore
from hushcount.service.store.tables import KeptTables

ITEMS = ["7", "9", "200"]


def manifests():
    """A campaign of every protocol whose items are whole numbers."""
    given = {"epsilon": 2.0, "users": 3000, "expires": int(time.time()) + 3600}
    made = [ldp.ExplicitHist(ldp.Integers(8), **given), ldp.Hashtogram(ldp.Integers(8), **given)]
    made += [ldp.TreeHist(ldp.Integers(8), threshold=900, **given)]
    made += [ldp.Bitstogram(ldp.Integers(12), threshold=2500, **given)]
    return [each.manifest for each in made]


@pytest.fixture
def store(tmp_path):
    made = CollectorStore(str(tmp_path / "store.db"))
    yield made
    made.close()


def send(store, manifest, count, item=7):
    batch = read_reports(b"".join(reports_of(manifest, count, item)), manifest).batch
    digest = batch.nonces.tobytes()[:32]
    assert store.reports.add_batch(manifest, RelayBatch(batch, digest), time.time())[1] == count


@pytest.mark.parametrize("manifest", manifests(), ids=lambda manifest: manifest.protocol)
def test_what_is_kept_is_what_is_counted_anew(store, manifest, tmp_path):
    store.campaigns.add(manifest, "open", ())
    for turn in range(3):
        send(store, manifest, 300, 7 + turn)
        for _ in range(2):
            kept = answers.frequencies(store, manifest, ITEMS)
            found = answers.heavy_hitters(store, manifest, 250.0)
            assert answers.consistency(store, manifest)["reports"] == 300 * (turn + 1)
        fresh = CollectorStore(str(tmp_path / "store.db"))
        assert kept == answers.frequencies(fresh, manifest, ITEMS)
        rows = registry.DECODERS[manifest.protocol].find(fresh.tables.of(manifest), 250.0)
        assert f'"reports":{300 * (turn + 1)}' in found.replace(" ", "")
        assert len(rows.values) == found.count('"upper"')
        fresh.close()


def test_a_question_reads_new_reports_only(store, monkeypatch):
    manifest, other = campaign(), campaign()
    read = []
    monkeypatch.setattr(tables.GroupTallies, "add", lambda self, nonces, _: read.append(len(nonces)))
    for each in (manifest, other):
        store.campaigns.add(each, "open", ())
    send(store, manifest, 30)
    send(store, other, 20)
    for _ in range(3):
        assert store.tables.of(manifest).reports == 30
    assert read == [30]
    send(store, manifest, 5)
    first = store.tables.of(manifest)
    assert first is store.tables.of(manifest), "what decoders have computed of tables is kept with them"
    assert (first.reports, read) == (35, [30, 5])
    assert store.tables.of(other).reports == 20
    assert store.tables.of(manifest).reports == 35
    assert read == [30, 5, 20, 30, 5], "the tables of one campaign are kept, and no more"


def test_nothing_is_half_counted_after_a_failure(store, monkeypatch):
    manifest = campaign()
    store.campaigns.add(manifest, "open", ())
    send(store, manifest, 40)
    store.tables.of(manifest)
    send(store, manifest, 40)
    add = tables.GroupTallies.add

    def failing(self, nonces, symbols):
        add(self, nonces, symbols)
        raise MemoryError

    monkeypatch.setattr(tables.GroupTallies, "add", failing)
    with pytest.raises(MemoryError):
        store.tables.of(manifest)
    monkeypatch.undo()
    found = store.tables.of(manifest)
    assert found.reports == 80
    assert sum(tally.reports for tally in found.groups[0]) == 80


def test_large_tables_are_not_kept(store, monkeypatch):
    monkeypatch.setattr(tables, "MOST_KEPT_CELLS", 10)
    manifest = campaign()
    store.campaigns.add(manifest, "open", ())
    send(store, manifest, 40)
    assert store.tables.of(manifest).reports == 40
    assert store.tables._kept is None


def test_deleted_reports_leave_memory(store, tmp_path):
    manifest = campaign()
    store.campaigns.add(manifest, "open", ())
    send(store, manifest, 40)
    store.tables.of(manifest)
    other = CollectorStore(str(tmp_path / "store.db"))  # as another worker
    other.campaigns.end(manifest.id)
    other.close()
    with pytest.raises(answers.NoReportsError):
        answers.collected(store, manifest)
    assert isinstance(store.tables, KeptTables)
    store.tables.forget_deleted()
    store.reports.forget_deleted()
    assert store.tables._kept is None or not store.tables._kept.reports
    assert not store.reports._known
