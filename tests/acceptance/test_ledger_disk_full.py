"""A disk that is really full, under SQLite and PostgreSQL: one sentence, nothing lost, and a retry goes on.

The disk is a small file system in memory; where this machine may not mount one, the tests are skipped.
"""

import os
import shutil
import subprocess

import psycopg
import pytest
from tests.postgresql import owner

from hushcount.accounting.charges import Event
from hushcount.accounting.checks import verify
from hushcount.accounting.filter import Filter
from hushcount.accounting.inspection import history, show
from hushcount.accounting.ledger import Ledger
from hushcount.accounting.runs import Answer, RunPlan
from hushcount.errors import DataError

LARGE = os.urandom(1 << 20)
SENTENCES = {
    "sqlite": "The disk of {} is full, so nothing was recorded; free some and run it again.",
    "postgresql": "The disk or the memory of {} is full, so nothing was recorded; free some and run it"
    " again.",
}


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 16 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("A REALLY FULL DISK WAS NOT TESTED: this machine may not mount a file system.")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def full(request, small_disk):
    """The place of a ledger on the small disk, and the ways to fill it up and to free some of it."""
    filler = small_disk / "filler"
    if request.param == "sqlite":
        yield request.param, str(small_disk / "spent.db"), filler
        return
    address = request.getfixturevalue("postgresql_server")
    space = small_disk / "space"
    space.mkdir()
    if owner() is not None:
        shutil.chown(space, owner())
        for folder in (small_disk, *list(small_disk.parents)[:-2]):
            folder.chmod(0o755)
    with psycopg.connect(address.format("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE TABLESPACE small LOCATION '{space}'")
        connection.execute("CREATE DATABASE small TABLESPACE small")
        yield request.param, address.format("small"), filler
        connection.execute("DROP DATABASE small WITH (FORCE)")
        connection.execute("DROP TABLESPACE small")


def fill(path):
    """Write until the disk is full."""
    with open(path, "wb", buffering=0) as stream:
        try:
            while stream.write(b"0" * 65536):
                pass
        except OSError:
            return


def plan(run_id):
    return RunPlan("q", "event", Event.of("0.01", "1e-10"), run_id=run_id)


def test_a_full_disk_is_one_sentence_and_nothing_is_lost(full):
    kind, place, filler = full
    ledger = Ledger(place)
    ledger.init("searches", Filter.fixed(1, "1e-6"))
    ledger.commit(ledger.reserve("searches", plan("first")), Answer(b"table"))
    reserved = ledger.reserve("searches", plan("second"))
    fill(filler)
    with pytest.raises(DataError) as refused:
        ledger.commit(reserved, Answer(LARGE))
    shown_place = place if kind == "sqlite" else place.partition("?")[0]
    assert str(refused.value) == SENTENCES[kind].format(shown_place)
    # What was recorded before is there, and is intact; the second run is charged and has no answer.
    filler.unlink()
    kinds = [entry["kind"] for entry in history(place, "searches")]
    assert kinds == ["init", "reserve", "commit", "reserve"]
    assert verify(place, {}) == []
    assert ledger.reserve("searches", plan("first")).answer == Answer(b"table")
    # A retry takes over, at no further charge, and stores its answer.
    again = ledger.reserve("searches", plan("second"))
    assert again.attempt == 2
    assert ledger.commit(again, Answer(LARGE)) == Answer(LARGE)
    assert show(place)[0]["spent"]["epsilon"] == "0.02"
    assert verify(place, {}) == []


def test_runs_until_the_disk_is_full_are_all_there(full):
    """Reservations go on until there is no room: each that was granted is recorded, the last one is not."""
    _, place, filler = full
    ledger = Ledger(place)
    ledger.init("searches", Filter.fixed(50, "1e-3"))
    fill(filler)
    granted, said = 0, None
    while said is None:
        try:
            ledger.reserve("searches", plan(str(granted)))
        except DataError as error:
            said = str(error)
        else:
            granted += 1
    assert " is full, so nothing was recorded; " in said
    filler.unlink()
    kinds = [entry["kind"] for entry in history(place, "searches")]
    assert kinds == ["init"] + ["reserve"] * granted
    assert verify(place, {}) == []
    ledger.reserve("searches", plan("after"))
