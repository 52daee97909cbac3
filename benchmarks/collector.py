"""Load on a collector of one worker, on loopback: single reports, batches, and what is found in them.

python -m benchmarks.collector [REPORTS]

The collector is a process of its own. Rates are stated per second of its CPU time, which other programs on
the machine change little, and of wall time, in which they have their share. A run fails if a bound is missed,
by CPU time; of wall time only where the machine has nothing else to do (a load below its processors).
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import numpy as np

from benchmarks.collector_answers import heavy_hitters
from hushcount import ldp
from hushcount.ldp.wire.batch import pack_batch
from hushcount.ldp.wire.report import header
from hushcount.service.admin import Administrator
from hushcount.service.app import application
from hushcount.service.bodies import REPORTS
from hushcount.service.collector import Collector, CollectorSettings
from hushcount.service.serve import Listening, run
from hushcount.service.store.reports import Outcome

SECONDS = 5
CONNECTIONS = 64
BATCH = 50_000  # what a relay sends at most, unless the manifest asks for more
TOGETHER = 20  # batches that are made before they are sent
TOKEN = "the-token-of-a-benchmark"
BITS = (3, 6, 9, 10)
# Bounds: parts of a rate, reports per second, megabytes, seconds.
LEAST_RATIO, LEAST_RATE, MOST_GROWTH, MOST_SECONDS = 0.6, 200_000, 64, 10.0


def campaign(bits=3):
    """The manifest of a campaign about whole numbers of 16 bits."""
    return ldp.TreeHist(
        ldp.Integers(16),
        epsilon=2.0,
        users=1_000_000,
        symbol_bits=bits,
        expires=int(time.time()) + 86400,
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


def serve(store, nothing):
    """Be a collector that stores reports, or says so and stores nothing."""
    settings = CollectorSettings(store=store, admin_token=TOKEN, rate=0.0, longest_wait=0.05)
    collector = Collector(settings)
    if nothing:

        async def write(manifest, group):
            return [Outcome.STORED] * len(group)

        collector.groups._write = write
    run(application(collector), Listening(listen="127.0.0.1:0"), collector.groups.hurry)


class Server:
    """A running collector: its port, and what it has used."""

    def __init__(self, pid, port):
        self.pid, self.port = pid, port

    @property
    def cpu(self):
        """Seconds of CPU time."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def anonymous(self):
        """Megabytes that no file backs."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("RssAnon"))


@contextmanager
def collector(folder, manifest, *, nothing=False):
    """A collector with a campaign, in a process of its own."""
    folder.mkdir()
    manifest.save(folder / "manifest.json")
    words = ["--serve", str(folder / "store.db"), *(["--nothing"] if nothing else [])]
    log = folder / "log"
    with log.open("w") as stream:
        process = subprocess.Popen([sys.executable, "-m", "benchmarks.collector", *words], stderr=stream)
    try:
        while '"listening"' not in log.read_text():
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        port = next(line["port"] for line in lines if "port" in line)
        Administrator(f"http://127.0.0.1:{port}", TOKEN).make(str(folder / "manifest.json"), "open", ())
        yield Server(process.pid, port)
    finally:
        process.terminate()
        process.wait()


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


def singles(server, manifest, name):
    """Send single reports; return how many per second of the collector's CPU time."""
    packed = reports(manifest, 100_000)
    waiting = [packed[at : at + 27] for at in range(0, len(packed), 27)]
    np.random.default_rng().shuffle(waiting)
    times, path = [], f"/v1/campaigns/{manifest.id}/reports"

    async def load():
        end = time.monotonic() + SECONDS
        await asyncio.gather(*(send(server.port, path, waiting, end, times) for _ in range(CONNECTIONS)))

    spent = server.cpu
    asyncio.run(load())
    rate = len(times) / (server.cpu - spent)
    low, high = np.quantile(times, (0.5, 0.99)) * 1000
    print(
        f"single reports, {name}: {rate:,.0f} per second of CPU, {len(times) / SECONDS:,.0f} of wall time,"
        f" p50 {low:.0f} ms, p99 {high:.0f} ms",
        flush=True,
    )
    return rate


def batches(server, manifest, total):
    """Send batches over one connection, each on disk before the next; return rates and memory."""
    connection = HTTPConnection("127.0.0.1", server.port)
    headers = {"Content-Type": REPORTS, "Authorization": f"Bearer {TOKEN}"}
    place, found = f"/v1/campaigns/{manifest.id}/reports", []
    for done in range(0, total, BATCH * TOGETHER):
        made = [pack_batch(reports(manifest, BATCH)) for _ in range(min(TOGETHER, (total - done) // BATCH))]
        spent, began, times = server.cpu, time.perf_counter(), []
        for body in made:
            sent = time.perf_counter()
            connection.request("POST", place, body, headers)
            answer = connection.getresponse()
            assert (answer.status, json.loads(answer.read())["accepted"]) == (202, BATCH)
            times.append(time.perf_counter() - sent)
        count, took = BATCH * len(made), time.perf_counter() - began
        used = server.cpu - spent
        idle = os.getloadavg()[0] <= (os.cpu_count() or 1)
        found.append((min(count / used, count / took if idle else np.inf), server.anonymous))
        low, high = np.quantile(times, (0.5, 0.99)) * 1000
        print(
            f"  {done + count:>12,} stored; the last {count:,} at {count / used:,.0f} per second of CPU,"
            f" {count / took:,.0f} of wall time, a batch in p50 {low:.0f} ms, p99 {high:.0f} ms;"
            f" anonymous memory {found[-1][1]} MB, load {os.getloadavg()[0]:.0f}",
            flush=True,
        )
    connection.close()
    return found


def main():
    """Print all figures, and leave with 1 if a bound is missed."""
    if "--serve" in sys.argv:
        serve(sys.argv[2], "--nothing" in sys.argv)
        return
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    missed = []
    with tempfile.TemporaryDirectory() as name:
        folder, manifest = Path(name), campaign()
        rates = {True: [], False: []}
        for turn in range(2):
            for nothing in (True, False):
                with collector(folder / f"{turn}{nothing}", manifest, nothing=nothing) as server:
                    what = "storing nothing" if nothing else "stored"
                    rates[nothing].append(singles(server, manifest, what))
        ratio = max(rates[False]) / max(rates[True])
        print(f"ratio of the rates by CPU: {ratio:.2f}")
        missed += [] if ratio >= LEAST_RATIO else [f"single reports have {ratio:.2f} of the rate"]
        print(f"batches of {BATCH:,} reports over HTTP:")
        with collector(folder / "batches", manifest) as server:
            found = batches(server, manifest, total)
            singles(server, manifest, f"stored after {total:,}")
        missed += [f"{rate:,.0f} reports per second" for rate, _ in found if rate < LEAST_RATE]
        grown = found[-1][1] - found[min(1, len(found) - 1)][1]
        missed += [] if grown <= MOST_GROWTH else [f"memory grew by {grown} MB"]
        for bits in BITS:
            spent = heavy_hitters(folder / f"{bits}.db", campaign(bits), reports, total)
            print(f"heavy hitters of {total:,} stored reports, {bits} bits: {spent:.1f} s of CPU", flush=True)
            missed += [f"{spent:.1f} s at {bits} bits"] if bits <= 6 and spent > MOST_SECONDS else []
    sys.exit(f"Bounds are missed: {'; '.join(missed)}." if missed else 0)


if __name__ == "__main__":
    main()
