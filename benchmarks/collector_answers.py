"""The CPU time in which a collector finds heavy hitters in stored reports."""

import time

from hushcount.ldp.wire.batch import pack_batch, unpack_batch
from hushcount.service import answers
from hushcount.service.store.batch import read_reports
from hushcount.service.store.reports import RelayBatch
from hushcount.service.store.store import CollectorStore

TOGETHER = 1_000_000
THRESHOLD = 50_000.0


def heavy_hitters(path, manifest, reports, total):
    """Store reports as batches; return the seconds of CPU time of the first question about them."""
    store = CollectorStore(str(path))
    store.campaigns.add(manifest, "open", ())
    for start in range(0, total, TOGETHER):
        packed = unpack_batch(pack_batch(reports(manifest, min(TOGETHER, total - start))))
        batch = read_reports(packed, manifest).batch
        store.reports.add_batch(manifest, RelayBatch(batch, str(start).encode()), time.time())
    answers.collected(_small(path, manifest, reports), manifest)  # compiles, or reads what was compiled
    began = time.process_time()
    answers.heavy_hitters(store, manifest, THRESHOLD)
    spent = time.process_time() - began
    store.close()
    path.unlink()
    return spent


def _small(path, manifest, reports):
    """A store with a few reports of the same campaign."""
    store = CollectorStore(f"{path}.small")
    store.campaigns.add(manifest, "open", ())
    batch = read_reports(reports(manifest, 1000), manifest).batch
    store.reports.add_batch(manifest, RelayBatch(batch, b"small"), time.time())
    answers.heavy_hitters(store, manifest, THRESHOLD)
    return store
