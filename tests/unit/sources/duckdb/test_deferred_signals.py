"""Signals that wait until a library has come to an end."""

from __future__ import annotations

import signal
import tempfile
import threading
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from hushcount.sources.duckdb.deferred_signals import deferred_signals
from hushcount.sources.duckdb.leaves import CountedLeaves
from hushcount.sources.open import open_source


@pytest.fixture(autouse=True)
def python_handler():
    """Python's own handler of Ctrl-C, whatever libraries have put in its place."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def send(number: int = signal.SIGINT) -> None:
    signal.raise_signal(number)


def deferred(*steps: Callable[[], object]) -> None:
    with deferred_signals():
        for step in steps:
            step()


def failing(words: str) -> Callable[[], None]:
    def fail() -> None:
        raise ValueError(words)

    return fail


def test_a_signal_waits_for_the_end_of_the_block():
    steps = []
    with pytest.raises(KeyboardInterrupt):
        deferred(send, lambda: steps.append("went on"))
    assert steps == ["went on"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_block_that_was_interrupted_and_failed_is_interrupted():
    with pytest.raises(KeyboardInterrupt):
        deferred(send, failing("mine"))


def test_other_failures_stay_what_they_are():
    with pytest.raises(ValueError, match="mine"):
        deferred(failing("mine"))


def test_a_handler_that_raises_nothing_keeps_the_failure():
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        with pytest.raises(ValueError, match="stopped"):
            deferred(lambda: send(signal.SIGTERM), failing("stopped"))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM]


def test_signals_without_a_handler_and_other_threads_are_left_alone():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with deferred_signals():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
    seen = []

    def work() -> None:
        with deferred_signals():
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
