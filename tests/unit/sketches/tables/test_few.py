"""Few rows counted in a dictionary, against the arrays and kernels that it stands for."""

import numpy as np
import pyarrow as pa
import pytest

from hushcount.sketches.counters import MisraGries, SpaceSaving
from hushcount.sketches.exact import Exact
from hushcount.sketches.kinds import load
from hushcount.sketches.tables.few import MOST_ROWS

KINDS = {
    "space-saving": lambda: SpaceSaving(300),
    "misra-gries": lambda: MisraGries(300),
    "exact": Exact,
}
TEXT = {"integers": lambda keys: keys, "text": lambda keys: pa.array([f"k{key}" * (key % 4) for key in keys])}


def state(sketch):
    entries = sketch.entries()
    keys = sketch.key_array(entries).to_pylist()
    return keys, entries.counts.tolist(), sketch.total, sketch.error_bound


def without(sketch, keys):
    """The sketch with arrays from the start."""
    sketch.update(keys[:1])
    assert sketch._table._few is not None
    assert sketch._table._arrays.rows.size
    assert sketch._table._few is None
    return sketch


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", TEXT)
def test_the_state_is_that_of_the_arrays(kind, form):
    draws = np.random.default_rng(11)
    for _ in range(30):
        rows = int(draws.integers(2, 700))
        keys = draws.integers(0, int(draws.integers(2, 600)), rows)
        few, arrays = KINDS[kind](), KINDS[kind]()
        if kind == "misra-gries":
            arrays._order = few._order  # by which zero counters are evicted
        arrays = without(arrays, TEXT[form](keys))
        few.update(TEXT[form](keys[:1]))
        done = 1
        while done < rows:
            step = int(draws.integers(1, 200))
            part = TEXT[form](keys[done : done + step])
            times = draws.integers(1, 9, len(part)) if draws.integers(2) else None
            for sketch in (few, arrays):
                sketch.update(part, times=times)
            done += step
            assert state(few) == state(arrays)
        asked = TEXT[form](np.arange(600))
        assert few.estimate(asked).tolist() == arrays.estimate(asked).tolist()
        assert state(load(few.to_bytes())) == state(arrays)
    assert few.public() == arrays.public()


def test_text_behind_a_dictionary():
    keys = pa.array(["a", "b", "a", "c"] * 100).dictionary_encode()
    few, arrays = SpaceSaving(), without(SpaceSaving(), pa.array(["a"]))
    few.update(pa.array(["a"]))
    for sketch in (few, arrays):
        sketch.update(keys)
    assert few._table._few is not None
    assert state(few) == state(arrays)


@pytest.mark.parametrize(("counters", "most"), [(100, 100), (1 << 17, MOST_ROWS)])
def test_what_could_evict_or_takes_long_is_counted_in_arrays(counters, most):
    sketch = SpaceSaving(counters)
    sketch.update(np.arange(most))
    assert sketch._table._few is not None
    assert sketch._table.nbytes == 0
    sketch.update([0])
    assert sketch._table._few is None
    assert sketch._table.nbytes > 0
