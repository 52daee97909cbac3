"""Load on a collector, on loopback: single reports beside a server that stores nothing, and stored batches.

python -m benchmarks.collector [REPORTS]
"""

import asyncio
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import uvicorn

from hushcount import ldp
from hushcount.ldp.wire.batch import pack_batch
from hushcount.ldp.wire.report import header
from hushcount.service import answers
from hushcount.service.app import application
from hushcount.service.bodies import REPORTS
from hushcount.service.collector import Collector, CollectorSettings, _add_batch
from hushcount.service.store.reports import Outcome
from hushcount.service.store.store import CollectorStore

SECONDS = 5
CONNECTIONS = 64


def campaign():
    """The manifest of a campaign about whole numbers of 16 bits."""
    return ldp.TreeHist(
        ldp.Integers(16), epsilon=2.0, users=1_000_000, expires=int(time.time()) + 86400
    ).manifest


def reports(manifest, count):
    """Reports with random nonces and symbols, sorted, one after the other."""
    made = np.empty(count, np.dtype([("header", "V9"), ("nonce", ">u8", (2,)), ("symbols", "<u2")]))
    generator = np.random.default_rng()
    made["header"] = np.void(header(manifest))
    made["nonce"][:, 0] = np.sort(generator.integers(0, 2**64, count, dtype=np.uint64))
    made["nonce"][:, 1] = generator.integers(0, 2**64, count, dtype=np.uint64)
    made["symbols"] = generator.integers(0, manifest.symbols, count)
    return made.tobytes()


@contextmanager
def listening(collector):
    """The port on which a collector listens, in a thread."""
    server = uvicorn.Server(uvicorn.Config(application(collector), port=0, log_level="critical"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join()


async def send(port, path, waiting, end, times):
    """Send one report after the other on one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/vnd.hushcount.report\r\n"
    while time.monotonic() < end:
        began = time.monotonic()
        writer.write(head.encode() + b"Content-Length: 27\r\n\r\n" + waiting.pop())
        answer = await reader.readuntil(b"}")
        assert b" 202 " in answer, answer
        times.append(time.monotonic() - began)
    writer.close()


def singles(store, manifest, nothing):
    """Requests per second of CPU time and their latencies, with a store or without."""
    settings = CollectorSettings(store=str(store), admin_token="x" * 20, rate=0.0, longest_wait=0.05)
    collector = Collector(settings)
    if nothing:

        async def write(manifest, group):
            return [Outcome.STORED] * len(group)

        collector.groups._write = write
    made = CollectorStore(str(store))
    made.campaigns.add(manifest, "open", ())
    made.close()
    packed = reports(manifest, 100_000)
    waiting = [packed[at : at + 27] for at in range(0, len(packed), 27)]
    np.random.default_rng().shuffle(waiting)
    times = []
    with listening(collector) as port:
        path = f"/v1/campaigns/{manifest.id}/reports"

        async def load():
            end = time.monotonic() + SECONDS
            await asyncio.gather(*(send(port, path, waiting, end, times) for _ in range(CONNECTIONS)))

        cpu = time.process_time()
        asyncio.run(load())
        cpu = time.process_time() - cpu
    low, high = np.quantile(times, (0.5, 0.99)) * 1000
    return len(times) / cpu, len(times) / SECONDS, low, high


def anonymous():
    """Megabytes of this process that no file backs."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("RssAnon"))


def batches(store, manifest, total, size=10_000):
    """Batches until so many reports are stored: checked, deduplicated and on disk before the next."""
    opened = CollectorStore(str(store))
    opened.campaigns.add(manifest, "open", ())
    done, cpu, wall = 0, 0.0, 0.0
    while done < total:
        bodies = [pack_batch(reports(manifest, size)) for _ in range(20)]
        began, waited = time.process_time(), time.perf_counter()
        for body in bodies:
            _add_batch(opened, manifest, body, REPORTS, time.time())
        spent, took = time.process_time() - began, time.perf_counter() - waited
        done, cpu, wall = done + 20 * size, cpu + spent, wall + took
        if (done // size) % 200 == 0 or done >= total:
            print(
                f"  {done:>12,} stored; the last 200,000 at {20 * size / spent:,.0f} per second of CPU,"
                f" {20 * size / took:,.0f} of wall time; anonymous memory {anonymous()} MB",
                flush=True,
            )
    print(f"  all: {done / cpu:,.0f} reports per second of CPU, {done / wall:,.0f} of wall time")
    began = time.process_time()
    answers.heavy_hitters(opened, manifest, 50_000.0)
    print(f"  heavy hitters of {done:,} reports: {time.process_time() - began:.1f} s of CPU")
    opened.close()


def main():
    """Print all figures."""
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    with tempfile.TemporaryDirectory() as folder:
        manifest = campaign()
        found = {}
        for turn in range(2):
            for name in ("stores nothing", "stores"):
                made = singles(Path(folder, f"{name[:6]}{turn}{len(name)}.db"), manifest, name != "stores")
                found.setdefault(name, []).append(made)
                print(
                    f"single reports, {name}: {made[0]:,.0f} per second of CPU, {made[1]:,.0f} of wall time,"
                    f" p50 {made[2]:.0f} ms, p99 {made[3]:.0f} ms",
                    flush=True,
                )
        rates = {name: max(each[0] for each in made) for name, made in found.items()}
        print(f"ratio of the rates by CPU: {rates['stores'] / rates['stores nothing']:.2f}")
        print("batches of 10,000 reports:")
        batches(Path(folder, "batches.db"), manifest, total)


if __name__ == "__main__":
    main()
