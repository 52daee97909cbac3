"""kill -9 at every fault point of reserve, draw, store and commit: never an unrecorded release, never two.

The points are enumerated: the program is killed at its first point, at its second, until it ends by itself.
"""

from pathlib import Path

import psycopg
import pytest
from tests.killing import every_point, killed_at

from hushcount.accounting.checks import verify
from hushcount.accounting.filter import Filter
from hushcount.accounting.inspection import history, show
from hushcount.accounting.ledger import Ledger

RUN = """
import os
import sys
from hushcount.accounting import ledger as module
from hushcount.accounting.charges import Event
from hushcount.accounting.runs import Answer, RunPlan
from tests import killing

killing.at_every_statement()
killing.at(module, "write_witness")
ledger = module.Ledger(sys.argv[1])
killing.point()
reserved = ledger.reserve("searches", RunPlan("q", "event", Event.of("0.3", "1e-8"), run_id="nightly"))
killing.point()
drawn = os.urandom(8).hex()
killing.point()
answer = reserved.answer or ledger.commit(reserved, Answer(drawn.encode()))
killing.point()
print(answer.content.decode(), flush=True)
killing.point()
"""

# A whole job, killed before and after each of its steps; the statements of a step are killed above. What
# leaves is the file top.csv and what is printed.
JOB = """
import os
import sys
import hushcount as hc
from hushcount.accounting import ledger as module
from hushcount.files import atomic
from hushcount.jobs import run
from hushcount.mechanisms.base import Mechanism
from tests import killing

place, folder = sys.argv[1:]
os.chdir(folder)
killing.at(module, "write_witness")
killing.at(run.Run, "count")
killing.at(Mechanism, "release")
killing.at(module.Ledger, "reserve")
killing.at(module.Ledger, "commit")
killing.at(atomic.Outputs, "commit")
release = hc.top(
    "visits.csv", column="url", epsilon=0.3, delta=1e-8, ledger=place, dataset="searches", output="top.csv"
)
killing.point()
print(release.table.to_pylist(), flush=True)
"""


@pytest.fixture
def fresh(request, tmp_path):
    """Make a ledger with a budget, a new one for each number."""

    def make(number):
        place = str(tmp_path / f"{number}.db")
        if request.param == "postgresql":
            address = request.getfixturevalue("postgresql_server")
            with psycopg.connect(address.format("postgres"), autocommit=True) as connection:
                connection.execute(f"DROP DATABASE IF EXISTS crash_{number} WITH (FORCE)")
                connection.execute(f"CREATE DATABASE crash_{number}")
            place = address.format(f"crash_{number}")
        Ledger(place).init("searches", Filter.fixed(1, "1e-6"))
        return (place,)

    return make


@pytest.mark.parametrize("fresh", ["sqlite", "postgresql"], indirect=True)
def test_kill_at_every_point(fresh):
    points, kinds_seen = 0, set()
    for (place,), printed in every_point(RUN, fresh):
        points += 1
        kinds = tuple(entry["kind"] for entry in history(place, "searches"))
        kinds_seen.add(kinds)
        # What was printed had been recorded before.
        assert printed == "" or kinds == ("init", "reserve", "commit")
        assert verify(place, {}) == []
        # A retry gets that answer, or the only one there is, and nothing is spent twice.
        again, died = killed_at(0, RUN, place)
        assert not died
        assert printed in ("", again)
        assert killed_at(0, RUN, place) == (again, False)
        kinds = [entry["kind"] for entry in history(place, "searches")]
        assert (kinds.count("reserve"), kinds.count("commit")) == (1, 1)
        assert show(place)[0]["spent"]["epsilon"] == "0.3"
        assert verify(place, {}) == []
    # Every state was met: nothing recorded, reserved, committed.
    assert kinds_seen == {("init",), ("init", "reserve"), ("init", "reserve", "commit")}
    assert points > 20


@pytest.mark.parametrize("fresh", ["sqlite", "postgresql"], indirect=True)
def test_kill_a_whole_job_at_every_point(fresh, tmp_path):
    visits = "url\n" + "/a\n" * 500 + "/b\n" * 400

    def prepare(number):
        folder = tmp_path / f"job{number}"
        folder.mkdir()
        (folder / "visits.csv").write_text(visits)
        return (*fresh(number), str(folder))

    kinds_seen = set()
    for (place, folder), printed in every_point(JOB, prepare):
        kinds = tuple(entry["kind"] for entry in history(place, "searches"))
        kinds_seen.add(kinds)
        written = Path(folder, "top.csv")
        earlier = written.read_bytes() if written.exists() else None
        # Whatever has left, on standard output or as a file, had been recorded before.
        assert (printed == "" and earlier is None) or kinds == ("init", "reserve", "commit")
        again, died = killed_at(0, JOB, place, folder)
        assert not died
        assert printed in ("", again)
        assert earlier in (None, written.read_bytes())
        kinds = [entry["kind"] for entry in history(place, "searches")]
        assert (kinds.count("reserve"), kinds.count("commit")) == (1, 1)
        assert verify(place, {}) == []
    assert kinds_seen == {("init",), ("init", "reserve"), ("init", "reserve", "commit")}
