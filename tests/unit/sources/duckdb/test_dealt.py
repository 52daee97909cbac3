"""Rows dealt to parts come back whole, each in its part, from memory and from disk."""

import os
import stat

import numpy as np
import pyarrow as pa
import pytest

from hushcount.sources.duckdb.dealt import PARTS, DealtRows


def dealt(room, batches=5, rows=1000, parts=PARTS):
    """Random rows dealt with a limit, and what was given to each part in order."""
    generator, given = np.random.default_rng(4), [[] for _ in range(PARTS)]
    whole = DealtRows(room)
    for _ in range(batches):
        to = generator.integers(0, parts, rows).astype(np.uint8)
        names = [f"k{value}" for value in generator.integers(0, 10**6, rows)]
        for part, name in zip(to.tolist(), names, strict=True):
            given[part].append(name)
        whole.add(pa.record_batch({"key": names, "part": to}), to)
    return whole, given


@pytest.mark.parametrize("room", [0, 50_000, 1 << 30])
@pytest.mark.parametrize("parts", [1, 3, PARTS])
def test_every_row_comes_back_in_its_part_and_in_order(room, parts):
    whole, given = dealt(room, parts=parts)
    assert (whole.on_disk > 0) == (room < 1 << 30)
    found = {}
    for part in whole.parts():
        rows = part.rows()
        (number,) = set(rows.column("part").to_pylist())
        assert pa.concat_batches(list(part.batches())).equals(rows)
        assert part.size >= rows.column("key").nbytes
        found[number] = rows.column("key").to_pylist()
    assert found == {number: names for number, names in enumerate(given) if names}
    whole.close()


def test_the_file_is_private_and_has_no_name():
    whole, _ = dealt(0)
    status = os.fstat(whole._file.fileno())
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert status.st_nlink == 0
    whole.close()
    assert whole._file.closed


def test_nothing_dealt_gives_no_parts():
    whole = DealtRows()
    assert (list(whole.parts()), whole.on_disk) == ([], 0)
    whole.close()
