"""Sets of keys on the real engine: removing one user takes away that user's weights and nothing else."""

import numpy as np
import pyarrow as pa
import pytest

from hushcount.errors import DataError
from hushcount.mechanisms.keys.calibration import UNIT, weights
from hushcount.sources.bounded import BoundedSource
from hushcount.sources.duckdb.bounding import DistinctPairs
from hushcount.sources.duckdb.key_sets import FAILED, KeptSets
from hushcount.sources.open import open_source

LARGEST = 20


def sums(table, stay=None, memory="512MB"):
    """Sums by key of a table through bounding and DuckDB, and again with the keys that stay."""
    kept = KeptSets(memory)
    source = BoundedSource(open_source(table, column="key", user="user"), DistinctPairs(LARGEST), True)
    for batch in source.batches():
        kept.add(batch.keys.field("user"), batch.keys.field("key"))
    found = [dict(totals(kept, None))]
    return found if stay is None else [*found, dict(totals(kept, stay))]


def totals(kept, stay):
    for keys, weight in kept.sums(weights(LARGEST), stay):
        yield from zip(keys.to_pylist(), weight.tolist(), strict=True)


def rows(seed, kind):
    """Random rows with repeated keys, nulls, and one user of thousands of keys."""
    rng = np.random.default_rng(seed)
    users = [*rng.integers(0, 60, 400).tolist(), *([7] * 3000), None]
    keys = [*rng.integers(0, 80, 400).tolist(), *range(3000), 5]
    named = [None if i % 50 == 0 else (f"k{key}" if kind == "text" else key) for i, key in enumerate(keys)]
    return pa.table({"user": pa.array(users, pa.int64()), "key": named})


@pytest.mark.parametrize("kind", ["text", "whole"])
@pytest.mark.parametrize("seed", range(3))
def test_removing_one_user_takes_away_a_short_vector(seed, kind):
    table = rows(seed, kind)
    gone = 11
    without = table.filter(pa.compute.fill_null(pa.compute.not_equal(table["user"], gone), True))
    mine = set(table.filter(pa.compute.equal(table["user"], gone))["key"].drop_null().to_pylist())
    others = table.filter(pa.compute.not_equal(table["user"], 7))  # whose keys are drawn by a fresh hash
    stay = pa.array(sorted(mine)[:5] + sorted(set(others["key"].drop_null().to_pylist()) - mine)[:9])
    more, less = (sums(each.filter(pa.compute.not_equal(each["user"], 7)), stay) for each in (table, without))
    for place, size in ((0, min(len(mine), LARGEST)), (1, 5)):
        difference = {key: more[place][key] - less[place].get(key, 0) for key in more[place]}
        changed = {key: weight for key, weight in difference.items() if weight}
        if len(mine) <= LARGEST:
            assert changed == dict.fromkeys(changed, int(weights(LARGEST)[size - 1]))
            assert set(changed) <= mine
            assert len(changed) == size
        assert sum(weight**2 for weight in changed.values()) <= UNIT**2


def test_a_user_of_thousands_of_keys_is_cut():
    (found,) = sums(pa.table({"user": [1] * 5000, "key": list(range(5000))}))
    assert set(found.values()) == {int(weights(LARGEST)[-1])}
    assert len(found) == LARGEST


def test_little_memory_gives_the_same():
    users = np.repeat(np.arange(30_000), 12)
    table = pa.table({"user": users, "key": [f"{key:030d}" for key in range(12)] * 30_000})
    assert (
        sums(table, memory="24MB")
        == sums(table)
        == [dict.fromkeys([f"{key:030d}" for key in range(12)], 30_000 * 295)]
    )


def test_nothing_gives_nothing_and_failures_are_one_sentence():
    kept = KeptSets()
    assert list(kept.sums(weights(3), None)) == []
    kept.add(pa.array([1]), pa.array(["a secret"]))
    kept._connection.close()
    with pytest.raises(DataError) as error:
        list(kept.sums(weights(3), None))
    assert str(error.value) == FAILED
    assert error.value.__cause__ is None
