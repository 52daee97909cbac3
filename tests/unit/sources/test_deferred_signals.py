"""Signals that wait until a library has come to an end."""

from __future__ import annotations

import signal
import tempfile
import threading
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from hushcount.sources import open_source
from hushcount.sources.deferred_signals import DeferredSignals
from hushcount.sources.leaf_counts import CountedLeaves


def send(number: int = signal.SIGINT) -> None:
    signal.raise_signal(number)


def deferred(signals: DeferredSignals, *steps: Callable[[], object]) -> None:
    with signals.deferred():
        for step in steps:
            step()


def waiting(signals: DeferredSignals, *steps: Callable[[], object]) -> Callable[[], None]:
    def wait() -> None:
        with signals.at_once():
            for step in steps:
                step()

    return wait


def failing(words: str) -> Callable[[], None]:
    def fail() -> None:
        raise ValueError(words)

    return fail


def test_a_signal_waits_for_the_end_of_the_block():
    steps = []
    signals = DeferredSignals(lambda: steps.append("stop"))
    with pytest.raises(KeyboardInterrupt):
        deferred(signals, send, lambda: steps.append("went on"))
    assert steps == ["stop", "went on"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_library_that_cannot_be_stopped_goes_on():
    steps = []
    with pytest.raises(KeyboardInterrupt):
        deferred(DeferredSignals(failing("closed")), send, lambda: steps.append("went on"))
    assert steps == ["went on"]


def test_what_fails_because_it_was_stopped_is_an_interruption_and_nothing_else():
    with pytest.raises(KeyboardInterrupt) as stopped:
        deferred(DeferredSignals(), send, failing("secret"))
    assert stopped.value.__context__ is None


def test_other_failures_stay_what_they_are():
    with pytest.raises(ValueError, match="mine"):
        deferred(DeferredSignals(), failing("mine"))


def test_a_wait_inside_ends_at_once():
    signals, steps = DeferredSignals(), []
    with pytest.raises(KeyboardInterrupt):
        deferred(signals, waiting(signals, send, lambda: steps.append("went on")))
    assert steps == []


def test_a_wait_does_not_begin_after_a_signal():
    signals, steps = DeferredSignals(), []
    with pytest.raises(KeyboardInterrupt):
        deferred(signals, send, waiting(signals, lambda: steps.append("waited")))
    assert steps == []


def test_a_handler_that_raises_nothing_keeps_the_failure():
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        with pytest.raises(ValueError, match="stopped"):
            deferred(DeferredSignals(), lambda: send(signal.SIGTERM), failing("stopped"))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM]


def test_signals_without_a_handler_and_other_threads_are_left_alone():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with DeferredSignals().deferred():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
    seen = []

    def work() -> None:
        with DeferredSignals().deferred():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


@pytest.mark.parametrize("place", range(6))
def test_ctrl_c_anywhere_in_a_count_is_ctrl_c_and_leaves_no_folder(monkeypatch, tmp_path, place):
    """As the keys of a batch are mapped, in whatever thread DuckDB asks for it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen = []

    def leaves(keys):
        if len(seen) == place:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        seen.append(len(keys))
        return keys

    source = open_source(np.arange(700_000, dtype=np.uint64))
    with pytest.raises(KeyboardInterrupt):
        list(CountedLeaves(source, leaves, pa.uint64()).batches())
    assert list(tmp_path.iterdir()) == []
