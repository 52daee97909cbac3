"""Coverage of heavy hitters from an oracle: for all candidates at once, and not with the interval of one."""

import pyarrow as pa
from scipy.stats import binom

import hushcount as hc
from hushcount.jobs.linear import heavy

KEYS, COUNT, RUNS, BETA = 60, 40, 400, 0.2
FALSE_ALARM = 1e-9


def misses(kind: str) -> tuple[int, int]:
    """How often a candidate at the threshold is missing: by the envelope of all, and by that of one."""
    names = [f"key {index}" for index in range(KEYS)]
    data = names * COUNT
    missed = alone = 0
    for _ in range(RUNS):
        oracle = hc.oracle(data, epsilon=1.0, delta=1e-6, kind=kind, depth=3, width=1024)
        found = heavy.heavy_hitters(oracle, names, threshold=COUNT, confidence=1 - BETA)
        missed += len(found) < KEYS
        high, low = oracle.interval(1 - BETA)
        counts = oracle.estimate(names)["count"].to_numpy()
        alone += len(heavy._found(pa.array(names), counts, COUNT, (high, -low, BETA))) < KEYS
    return missed, alone


def test_all_heavy_candidates_are_listed_and_the_interval_of_one_key_is_refuted():
    for kind in ("count-min", "count-sketch"):
        missed, alone = misses(kind)
        print(kind, missed / RUNS, alone / RUNS)
        assert binom.sf(missed - 1, RUNS, BETA) > FALSE_ALARM
        assert binom.sf(alone - 1, RUNS, BETA) < FALSE_ALARM
