"""What all sketches promise: a refused batch changes nothing, no error quotes a key, threads take turns."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import hushcount as hc
from hushcount.errors import HushcountError
from hushcount.sketches.linear import TrackedSketch

COUNTERS = {
    "space-saving": lambda: hc.SpaceSaving(counters=64),
    "misra-gries": lambda: hc.MisraGries(counters=64),
    "exact": hc.Exact,
}
ADDING = {
    **COUNTERS,
    "count-min": lambda: hc.CountMin(depth=3, width=64),
    "count-sketch": lambda: hc.CountSketch(depth=3, width=64),
    "hierarchy": lambda: hc.HierarchySketch("path/2", counters=64),
}
ALL = {**ADDING, "tracked": lambda: TrackedSketch("count-min", counters=64, depth=3, width=64)}
BAD = {
    "surrogate": "secret\ud800",
    "long": "secret/" + "x" * (1 << 24),
    "bytes": b"secret",
    "number": 7,
    "nested": ("secret",),
}
GOOD = ["tea", "milk", "tea"] * 700


def everything(error):
    """All that can be reached from an exception, as text."""
    found = ""
    while error is not None:
        found += repr((str(error), error.args, vars(error)))
        error = error.__cause__ or error.__context__
    return found


def refused(act):
    """Return the message of a call that is refused; nothing about the exception quotes a key."""
    with pytest.raises(HushcountError) as caught:
        act()
    assert "secret" not in everything(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("kind", ALL)
def test_a_refused_update_changes_nothing(kind, bad):
    sketch = ALL[kind]()
    sketch.update(GOOD)
    before = sketch.to_bytes()
    refused(lambda: sketch.update([*["rye"] * 140_000, BAD[bad]]))
    assert sketch.to_bytes() == before
    sketch.update(GOOD)
    assert sketch.total == 2 * len(GOOD)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("kind", ALL)
def test_a_refused_first_update_leaves_an_empty_sketch(kind, bad):
    sketch = ALL[kind]()
    empty = sketch.to_bytes()
    refused(lambda: sketch.update(["tea", BAD[bad]]))
    assert sketch.to_bytes() == empty
    sketch.update([1, 2, 1] if kind not in ("hierarchy",) else ["tea"] * 3)
    assert sketch.total == 3


def test_a_bad_iterator_counts_nothing():
    def keys():
        yield from ["tea"] * 200_000
        raise KeyError("secret")

    sketch = hc.SpaceSaving(counters=8)
    refused(lambda: sketch.update(keys()))
    assert sketch.total == 0


def refusals_of(*acts):
    """Return the errors of calls, most of which are not refused."""
    found = []
    for act in acts:
        try:
            act()
        except HushcountError as error:
            found.append(error)
    return found


# Paths may be bytes, so trees do not refuse them.
REFUSING = [(kind, bad) for kind in ADDING for bad in BAD if (kind, bad) != ("hierarchy", "bytes")]


@pytest.mark.parametrize(("kind", "bad"), REFUSING)
def test_a_refused_key_does_not_take_the_buffered_ones_along(kind, bad):
    sketch = ADDING[kind]()
    keys = [*GOOD[:1500], BAD[bad], *GOOD[1500:]]
    found = refusals_of(*[lambda key=key: sketch.add(key) for key in keys], lambda: sketch.total)
    assert len(found) == 1
    assert "secret" not in everything(found[0])
    assert sketch.total == len(GOOD)
    assert hc.load(sketch.to_bytes()).total == len(GOOD)


def test_a_number_beyond_64_bits_does_not_take_the_buffered_ones_along():
    sketch = hc.SpaceSaving(counters=8)
    for key in range(3500):
        sketch.add(key)
    sketch.add(2**70)
    assert refused(lambda: sketch.total)
    assert sketch.total == 3500


def test_a_path_is_not_counted(tmp_path):
    path = tmp_path / "secret.csv"
    path.write_text("key\ntea\n")
    for make in ALL.values():
        sketch = make()
        for given in (path, str(path), Path(path.name)):
            refused(lambda given=given, sketch=sketch: sketch.update(given))
        assert sketch.total == 0


BATCHES, SIZE, THREADS = 60, 2000, 4


def run_together(work):
    """Run `work(thread)` in all threads at once, switching between them as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(work, range(THREADS)))
    finally:
        sys.setswitchinterval(before)


def keys_of(thread, batch):
    draw = np.random.default_rng([thread, batch])
    return [f"/key{value}/{value % 7}" for value in draw.zipf(1.2, SIZE) % 1000]


@pytest.mark.parametrize("kind", ADDING)
def test_threads_take_turns(kind):
    sketch = ADDING[kind]()
    batches = {
        (thread, batch): keys_of(thread, batch) for thread in range(THREADS) for batch in range(BATCHES)
    }

    def work(thread):
        for batch in range(BATCHES):
            keys = batches[thread, batch]
            sketch.update(keys[:-50])
            for key in keys[-50:]:
                sketch.add(key)
            if batch % 20 == 0:
                sketch.shape()
                sketch.to_bytes()
                sketch.estimate(keys[:3])

    run_together(work)
    assert sketch.total == BATCHES * SIZE * THREADS
    assert hc.load(sketch.to_bytes()).total == sketch.total  # which checks the counters against the total
    if kind == "exact":
        whole = hc.Exact()
        for keys in batches.values():
            whole.update(keys)
        asked = sorted(set(whole.shape().keys.to_pylist()))
        assert sketch.estimate(asked).tolist() == whole.estimate(asked).tolist()


def test_threads_take_turns_with_users():
    sketch = hc.UserMisraGries(counters=5000)

    def work(thread):
        for batch in range(BATCHES):
            users = [f"{thread}/{batch}/{row // 4}" for row in range(SIZE)]
            sketch.update([f"key{row % 4}" for row in range(SIZE)], users=users)

    run_together(work)
    assert sketch.total == BATCHES * SIZE * THREADS
    assert sketch.estimate(["key0", "key3"]).tolist() == [BATCHES * SIZE * THREADS // 4] * 2


def test_merging_in_both_directions_at_once_ends():
    one, other = hc.MisraGries(counters=64), hc.MisraGries(counters=64)
    one.update(GOOD)
    other.update(GOOD)

    def work(thread):
        for _ in range(50):
            merged = one.merge(other) if thread % 2 else other.merge(one)
            assert merged.total == 2 * len(GOOD)

    run_together(work)
