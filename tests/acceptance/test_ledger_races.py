"""Many processes at one ledger: together they never get more than the budget, and one run has one answer."""

import subprocess
import sys

import pytest

from hushcount.accounting.checks import verify
from hushcount.accounting.filter import Filter
from hushcount.accounting.inspection import history, show
from hushcount.accounting.ledger import Ledger

PROCESSES = 50
# Waits for a word on standard input, so that all start together; then spends until it is refused.
SPEND = """
import sys
from hushcount.accounting.charges import Event
from hushcount.accounting.ledger import Ledger
from hushcount.accounting.runs import Answer, RunPlan
from hushcount.errors import BudgetExceeded
ledger, number = Ledger(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
try:
    for count in range(20):
        plan = RunPlan("q", "event", Event.of("0.05", "1e-10"), run_id=f"{number}.{count}")
        ledger.commit(ledger.reserve("searches", plan), Answer(b"table"))
        print("granted")
except BudgetExceeded:
    print("refused")
"""
# All ask the same: whoever draws, draws something else.
SAME = """
import os
import sys
from hushcount.accounting.charges import Event
from hushcount.accounting.ledger import Ledger
from hushcount.accounting.runs import Answer, RunPlan
ledger = Ledger(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
reserved = ledger.reserve("searches", RunPlan("q", "event", Event.of("0.05", "1e-10"), run_id="nightly"))
answer = reserved.answer or ledger.commit(reserved, Answer(os.urandom(8).hex().encode()))
print(answer.content.decode())
"""


def race(script, location, processes):
    """Start all, let them go together, and return what each printed."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script, location, str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]
    for process in running:
        assert process.stdout.readline() == "ready\n"
    for process in running:
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate()[0].split() for process in running]
    assert [process.returncode for process in running] == [0] * processes
    return outputs


@pytest.fixture
def spent(location):
    Ledger(location).init("searches", Filter.fixed(1, "1e-6"))
    return location


def test_fifty_processes_never_exceed_a_budget(spent):
    outputs = race(SPEND, spent, PROCESSES)
    granted = sum(output.count("granted") for output in outputs)
    assert granted == 21  # tests/vectors/accounting.json, the second row of "filter"
    assert [output[-1] for output in outputs] == ["refused"] * PROCESSES
    kinds = [entry["kind"] for entry in history(spent, "searches")]
    assert (kinds.count("reserve"), kinds.count("commit"), len(kinds)) == (21, 21, 43)
    assert verify(spent, {}) == []


def test_one_run_has_one_answer_whoever_draws(spent):
    outputs = race(SAME, spent, 8)
    assert len({output[0] for output in outputs}) == 1
    kinds = [entry["kind"] for entry in history(spent, "searches")]
    assert (kinds.count("reserve"), kinds.count("commit")) == (1, 1)
    assert show(spent)[0]["spent"]["epsilon"] == "0.05"
    assert verify(spent, {}) == []
