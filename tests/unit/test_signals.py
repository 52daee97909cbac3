"""Signals interrupt outside of held blocks only, in whatever state the program inherits them."""

from __future__ import annotations

import gc
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

from hushcount import signals


@pytest.fixture(autouse=True)
def dispositions():
    """The handlers of a program in the foreground, whatever this test run has inherited."""
    before = {number: signal.getsignal(number) for number in signals.SIGNALS}
    for number in signals.SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, signal.SIG_DFL if handler is None else handler)


def in_force():
    return [signal.getsignal(number) for number in signals.SIGNALS]


def held(*steps):
    with signals.held():
        for step in steps:
            step()


def failing():
    raise ValueError("mine")


def test_the_list():
    assert {number.name for number in signals.SIGNALS} == {"SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"}


@pytest.mark.parametrize("number", signals.SIGNALS)
def test_a_signal_interrupts_at_once_but_in_a_held_block_at_its_end(number):
    before, done = in_force(), []
    with signals.handled():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        with pytest.raises(KeyboardInterrupt):
            held(lambda: signal.raise_signal(number), lambda: held(lambda: done.append("inner")))
        assert done == ["inner"]
        held(lambda: done.append("free again"))
    assert done == ["inner", "free again"]
    assert in_force() == before


def test_several_signals_in_a_held_block_interrupt_once():
    done = []
    with signals.handled():
        with pytest.raises(KeyboardInterrupt):
            held(*(lambda number=number: signal.raise_signal(number) for number in signals.SIGNALS))
        held(lambda: done.append("free again"))
    assert done == ["free again"]


def test_a_program_is_ended_once_by_signals_that_come_together(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(signals.time, "monotonic", lambda: clock[0])
    with signals.handled(ends=True):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        clock[0] = 0.9
        for number in signals.SIGNALS:
            signal.raise_signal(number)
            held(lambda number=number: signal.raise_signal(number))
        clock[0] = 1.0  # the first may have been swallowed
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    with signals.handled(ends=True), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_what_is_ignored_is_ignored_from_its_first_step_on(monkeypatch):
    found = signal.getsignal

    def struck(number):
        signal.raise_signal(signal.SIGINT)
        return found(number)

    before, done = in_force(), []
    with signals.handled():
        monkeypatch.setattr(signal, "getsignal", struck)
        with signals.ignored():
            monkeypatch.setattr(signal, "getsignal", found)
            done.append("said")
        held(lambda: done.append("free again"))
    assert done == ["said", "free again"]
    assert in_force() == before


def test_a_block_that_failed_and_was_interrupted_is_interrupted():
    with pytest.raises(KeyboardInterrupt):
        held(lambda: signal.raise_signal(signal.SIGINT), failing)
    with pytest.raises(ValueError, match="mine"):
        held(failing)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("number", signals.SIGNALS)
def test_an_ignored_signal_stays_ignored(number):
    signal.signal(number, signal.SIG_IGN)
    with signals.handled():
        signal.raise_signal(number)
        held(lambda: signal.raise_signal(number))
        assert signal.getsignal(number) is signal.SIG_IGN


def test_a_handler_of_the_program_is_called_and_decides():
    heard = []
    signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    with signals.handled():
        signal.raise_signal(signal.SIGTERM)
        held(lambda: signal.raise_signal(signal.SIGTERM), lambda: heard.append("whole"))
        with pytest.raises(ValueError, match="mine"):
            held(lambda: signal.raise_signal(signal.SIGTERM), failing)
    assert heard == [signal.SIGTERM, "whole", signal.SIGTERM, signal.SIGTERM]


def test_outside_of_handled_only_signals_with_a_handler_are_held():
    with signals.held():
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler


def test_other_threads_have_no_signals():
    seen = []

    def work():
        with signals.handled(), signals.held():
            seen.append(in_force())

    before = in_force()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


class Finalised:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interruption_that_python_swallowed_is_not_forgotten():
    with signals.handled():
        signals.check()
        Finalised()
        gc.collect()
        with pytest.raises(KeyboardInterrupt):
            signals.check()
    with signals.handled():
        signals.check()


def test_what_is_left_behind_is_said():
    with signals.handled():
        assert signals.interruption() == "Interrupted."
        signals.leaves("nothing was released.")
        assert signals.interruption() == "Interrupted; nothing was released."
    with signals.handled():
        assert signals.interruption() == "Interrupted."


STORM = """
import signal
from hushcount import signals
for number in signals.SIGNALS:
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
before = [signal.getsignal(number) for number in signals.SIGNALS]
entered = left = 0
def hold():
    global entered, left
    with signals.held():
        entered += 1
        for _ in range(20):
            pass
        left += 1
with signals.handled():
    for _ in range(300):
        try:
            print("go on", flush=True)
            while True:
                hold()
        except KeyboardInterrupt:
            pass
assert entered == left > 0, (entered, left)
assert [signal.getsignal(number) for number in signals.SIGNALS] == before
print("whole")
"""


@pytest.mark.parametrize("seed", [1, 2])
def test_signals_at_any_moment_never_cut_a_held_block(seed):
    rng = random.Random(seed)
    with subprocess.Popen([sys.executable, "-c", STORM], stdout=subprocess.PIPE, text=True) as process:
        while process.stdout.readline() == "go on\n":
            time.sleep(rng.random() / 500)
            process.send_signal(rng.choice(signals.SIGNALS))
        assert process.wait() == 0
