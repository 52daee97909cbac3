"""A whole campaign on this machine: a collector, a relay, and 200,000 simulated clients.

`make demo-collect` runs it. All clients seal their reports for the collector, and all reports go through the
relay: those of 2,000 clients singly, and the others, which would take minutes to be simulated so, in batches
of 10,000, as from programs that report for many. Everything is thrown away in the end; --keep-open leaves the
collector running until Enter is pressed.
"""

import http.client
import json
import secrets
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from hushcount import ldp
from hushcount.ldp.client.http import ask
from hushcount.ldp.client.simulation import HeldItems, ReportPool
from hushcount.ldp.wire.sealing import pack_sealed, seal_report
from hushcount.noise.bits import system_bits
from hushcount.service.admin import Administrator

WORDS = ["tea", "coffee", "water", "milk", "juice", "cocoa", "cider", "mate", "soda", "broth"]
SINGLY, IN_BATCHES, BATCH = 2_000, 198_000, 10_000
TERMS = ldp.Terms(collector="this demo", relay="this demo, too", retention_days=1, min_batch=1_000)


@contextmanager
def service(folder, name, *options):
    """Start `hushcount NAME serve` on a free port, give its address, and stop it in the end."""
    log = folder / f"{name}.log"
    command = [sys.executable, "-m", "hushcount", name, "serve", "--listen", "127.0.0.1:0", "--rate", "0"]
    with log.open("w") as stream:
        process = subprocess.Popen([*command, *options], stderr=stream, cwd=folder)
    try:
        while process.poll() is None and '"listening"' not in log.read_text():
            time.sleep(0.05)
        ports = [json.loads(line).get("port") for line in log.read_text().splitlines() if '"port"' in line]
        if not ports:
            sys.exit(f"The {name} did not start: {log.read_text()}")
        yield f"http://127.0.0.1:{ports[0]}"
    finally:
        process.terminate()
        process.wait()


def drawn(generator, users):
    """What so many users drink: the first drink is the most frequent, one user in five drinks none."""
    shares = 0.8 / np.arange(1, len(WORDS) + 1)
    shares *= 0.8 / shares.sum()
    return generator.choice([*range(len(WORDS)), -1], users, p=[*shares, 0.2])


def key_of(collector):
    """Return the id of the key that reports are sealed to, and its public half."""
    (key,) = json.loads(ask("GET", f"{collector}/v1/keys").body)
    return bytes.fromhex(key["id"]), bytes.fromhex(key["public"])


def send_singly(manifest, key, relay, held):
    """Seal a report for every user and send it to the relay."""
    path, kind = f"/v1/campaigns/{manifest.id}/sealed", {"Content-Type": "application/vnd.hushcount.sealed"}

    def some(items):
        connection = http.client.HTTPConnection(relay.removeprefix("http://"))
        for item in items:
            report = ldp.Client(manifest).report(WORDS[item] if item >= 0 else None)
            connection.request("POST", path, seal_report(report, *key, manifest.campaign), kind)
            answer = connection.getresponse()
            assert answer.status == 202, answer.read()
            answer.read()
        connection.close()

    with ThreadPoolExecutor(32) as pool:
        list(pool.map(some, np.array_split(held, 32)))


def send_batches(manifest, key, relay, held):
    """Seal a report for every user and send them to the relay in batches."""
    pool = ReportPool(manifest, system_bits())
    pool.add(HeldItems(WORDS, held.astype(np.int64)))
    packed = b"".join(pool.shuffled())
    size = manifest.wire.report_bytes
    place, kind = f"{relay}/v1/campaigns/{manifest.id}/sealed", "application/vnd.hushcount.sealed-reports"
    for start in range(0, len(packed), size * BATCH):
        block = packed[start : start + size * BATCH]
        reports = [block[at : at + size] for at in range(0, len(block), size)]
        sealed = [seal_report(each, *key, manifest.campaign) for each in reports]
        answer = ask("POST", place, None, pack_sealed(sealed), kind)
        assert answer.status == 202, answer.title


def main():
    """Run the campaign and print what was found beside the truth."""
    held = drawn(np.random.default_rng(), SINGLY + IN_BATCHES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "admin.token").write_text(secrets.token_hex(24))
        made = ldp.TreeHist(
            ldp.Words("abcdefghijklmnopqrstuvwxyz", 6),
            epsilon=2.0,
            users=len(held),
            expires=int(time.time()) + 3600,
            terms=TERMS,
        )
        made.manifest.save(folder / "drinks.json")
        options = ("--store", "reports.db", "--admin-token-file", "admin.token")
        with service(folder, "collect", *options) as collector:
            admin = Administrator(collector, (folder / "admin.token").read_text())
            admin.make(str(folder / "drinks.json"), "open", ())
            (folder / "relay.token").write_text(admin.issue(made.manifest.id, 1, "relay")[0])
            print(f"The collector is {collector}/, with the administrator's token {admin.token}.")
            options = ("--collector", collector, "--token-file", "relay.token", "--store", "relay.db")
            with service(folder, "relay", *options, "--min-batch", str(SINGLY)) as relay:
                print(f"The relay is {relay}/.")
                key, began = key_of(collector), time.perf_counter()
                send_singly(made.manifest, key, relay, held[:SINGLY])
                print(
                    f"{SINGLY:,} clients reported singly through it in {time.perf_counter() - began:.0f} s."
                )
                began = time.perf_counter()
                send_batches(made.manifest, key, relay, held[SINGLY:])
                print(f"{IN_BATCHES:,} in batches in {time.perf_counter() - began:.0f} s.")
                while admin.status(made.manifest.id)["reports"] < SINGLY + IN_BATCHES:
                    time.sleep(0.2)
                print(f"The collector has all of them after {time.perf_counter() - began:.0f} s.")
            found = admin.release(made.manifest.id, None, None)["rows"]
            print("Found, beside the truth, which only a simulation knows:")
            for row in found:
                true = int((held == WORDS.index(row["key"])).sum()) if row["key"] in WORDS else 0
                interval = f"[{row['lower']:,}, {row['upper']:,}]"
                print(f"  {row['key']:8} {row['count']:>8,}  {interval}  true {true:,}")
            if "--keep-open" in sys.argv:
                input("Press Enter to stop.")


if __name__ == "__main__":
    main()
