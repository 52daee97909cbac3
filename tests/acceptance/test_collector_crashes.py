"""kill -9 at random moments under load: every report that was acknowledged is counted exactly once."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest
from tests.collector import ADMIN_TOKEN, batch_of, campaign, reports_of
from tests.postgresql import location, postgresql_server  # noqa: F401

from hushcount.errors import DataError
from hushcount.ldp.client.http import ask
from hushcount.service.admin import Administrator
from hushcount.service.store.store import CollectorStore

KILLS = 20
SENDERS = 6
REPORT, REPORTS = "application/vnd.hushcount.report", "application/vnd.hushcount.reports"


def start(store, folder):
    """A collector in a process of its own, and its address."""
    (folder / "admin.token").write_text(ADMIN_TOKEN)
    command = [sys.executable, "-m", "hushcount", "collect", "serve", "--listen", "127.0.0.1:0"]
    command += ["--store", store, "--admin-token-file", str(folder / "admin.token"), "--rate", "0"]
    command += ["--min-group", "2", "--max-wait", "0.02"]
    log = folder / "log"
    with log.open("w") as stream:
        process = subprocess.Popen(command, stderr=stream)
    while process.poll() is None:
        for line in log.read_text().splitlines():
            if '"listening"' in line and line.endswith("}"):
                return process, f"http://127.0.0.1:{json.loads(line)['port']}"
        time.sleep(0.02)
    raise AssertionError(log.read_text())


class Sender(threading.Thread):
    """Sends reports until each is acknowledged, some alone with a token, some in batches."""

    def __init__(self, manifest, place, tokens):
        super().__init__()
        self.manifest, self.place, self.tokens = manifest, place, tokens
        self.acknowledged, self.stop = [], threading.Event()

    def run(self):
        turn = 0
        while not self.stop.is_set() and self.tokens:
            turn += 1
            if turn % 4 == 0:
                reports = reports_of(self.manifest, 5)
                self.send(batch_of(reports), ADMIN_TOKEN, REPORTS, reports)
            else:
                reports = reports_of(self.manifest, 1)
                self.send(reports[0], self.tokens.pop(), REPORT, reports)

    def send(self, body, token, kind, reports):
        while not self.stop.is_set():
            try:
                status = ask("POST", f"{self.place[0]}/reports", token, body, kind).status
            except DataError:
                status = 0
            if status in (202, 409):
                self.acknowledged += reports
                return
            assert status in (0, 503), status
            time.sleep(0.02)


def nonces_of(store, campaign_id):
    """The nonces of all stored reports, each as often as it is stored, and of the spent tokens the number."""
    opened = CollectorStore(store)
    try:
        nonces = [row.tobytes() for nonces, _ in opened.reports.read(campaign_id) for row in nonces]
        found = opened.campaigns.get(campaign_id)
        spent = opened._database.rows("SELECT hashes FROM spent WHERE campaign = ?", campaign_id)
        return nonces, found.reports, b"".join(row[0] for row in spent)
    finally:
        opened.close()


def test_kill(location, tmp_path):  # noqa: F811
    manifest = campaign(users=10_000)
    manifest.save(tmp_path / "manifest.json")
    process, url = start(location, tmp_path)
    admin = Administrator(url, ADMIN_TOKEN)
    admin.make(str(tmp_path / "manifest.json"), "token", ())
    place = [f"{url}/v1/campaigns/{manifest.id}"]
    issued = [admin.issue(manifest.id, 3000, "client") for _ in range(SENDERS)]
    senders = [Sender(manifest, place, tokens) for tokens in issued]
    for each in senders:
        each.start()
    try:
        for _ in range(KILLS):
            time.sleep(random.random() * 0.5)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            process, url = start(location, tmp_path)
            place[0] = f"{url}/v1/campaigns/{manifest.id}"
        time.sleep(0.5)
    finally:
        for each in senders:
            each.stop.set()
        for each in senders:
            each.join()
        process.terminate()
    assert process.wait() == 0, "it stops in good order when it is asked to"
    acknowledged = [report[9:25] for each in senders for report in each.acknowledged]
    nonces, counted, spent = nonces_of(location, manifest.id)
    assert len(set(acknowledged)) == len(acknowledged) > KILLS
    assert len(nonces) == len(set(nonces)) == counted, "no report is stored twice"
    assert set(acknowledged) <= set(nonces), "every acknowledged report is stored"
    hashes = [spent[at : at + 16] for at in range(0, len(spent), 16)]
    assert len(hashes) == len(set(hashes)), "no token is spent twice"


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_when_it_is_asked_to(sent, tmp_path):
    process, url = start(str(tmp_path / "store.db"), tmp_path)
    assert ask("GET", f"{url}/healthz").status == 200
    process.send_signal(sent)
    assert process.wait(60) == 0
