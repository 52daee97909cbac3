"""Ctrl-C in the middle of a DuckDB query: it ends, and leaves nothing on disk."""

import signal
import tempfile
import threading

import numpy as np
import pyarrow as pa
import pytest

from hushcount.sources.duckdb.counted import counted_leaves
from hushcount.sources.open import open_source


@pytest.fixture(autouse=True)
def python_handler():
    """Python's own handler of Ctrl-C, whatever libraries have put in its place."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)


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
        list(counted_leaves(source, leaves, pa.uint64()))
    assert list(tmp_path.iterdir()) == []
