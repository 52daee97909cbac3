"""CPU and memory of counting a table of PostgreSQL, beside the same rows fetched by ADBC alone.

    python -m benchmarks.databases postgresql://... [--rows 20000000]

It makes the table hushcount_bench in that database if it has not as many rows, and runs each way in a process
of its own, twice, alternately. CPU is that of this side; the server's own is not counted. The ways:

- `adbc`: SELECT of the column by ADBC, batch after batch, nothing done with it
- `keys`: the same through hushcount, as keys, checked and ready to be counted
- `exact`: a table of exact counts, counted by the server
- `oracle`: cells of a CountSketch, of keys that the server has counted
- `sorted`: a sketch with counters, for which rows are sorted by a keyed hash of the key
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from statistics import median

WAYS = ("adbc", "keys", "exact", "oracle", "sorted")
ROUNDS = 2
MOST = {"keys": 1.3, "exact": 1.3, "oracle": 1.3, "sorted": 2.5}  # times the CPU of ADBC alone
MEMORY = 600  # megabytes
TABLE = "hushcount_bench"
BUDGET = {"epsilon": 1.0, "delta": 1e-8}


def run(way: str, address: str) -> None:
    """Do one way in this process, and print its CPU seconds and peak memory."""
    import resource

    if way == "adbc":
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(4 << 20)})
            start = _seconds()
            cursor.execute(f"SELECT url FROM {TABLE}")
            rows = sum(batch.num_rows for batch in cursor.fetch_record_batch())
    else:
        import hushcount as hc
        from hushcount.sketches.counters import SpaceSaving
        from hushcount.sources.open import open_source

        SpaceSaving(2).update(["a"])  # kernels are loaded before the clock starts
        start, rows = _seconds(), 0
        if way == "keys":
            source = open_source(address, sql=f"SELECT url FROM {TABLE}", ordered=False)
            rows = sum(batch.rows for batch in source.batches())
        elif way == "oracle":
            hc.oracle(address, relation=TABLE, column="url", **BUDGET)
        else:
            hc.top(address, relation=TABLE, column="url", exact=way == "exact", **BUDGET)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(json.dumps({"cpu": _seconds() - start, "peak": peak, "rows": rows}))


def _seconds() -> float:
    """CPU seconds of this process, all threads."""
    import time

    return time.process_time()


def prepare(address: str, rows: int) -> None:
    """Make the table, whose keys have the frequencies of a Zipf distribution with exponent 1.1."""
    import numpy as np
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        (found,) = connection.execute("SELECT to_regclass(%s)::text", (TABLE,)).fetchone() or (None,)
        if found and connection.execute(f"SELECT count(*) FROM {TABLE}".encode()).fetchone() == (rows,):
            return
        connection.execute(f"DROP TABLE IF EXISTS {TABLE}".encode())
        connection.execute(f"CREATE UNLOGGED TABLE {TABLE} (url text)".encode())
        drawn = np.random.default_rng(1)
        with connection.cursor().copy(f"COPY {TABLE} FROM STDIN".encode()) as copy:
            for start in range(0, rows, 1 << 18):
                keys = drawn.zipf(1.1, min(1 << 18, rows - start)) % 1_000_000
                copy.write("".join(f"/shop/item/{key}\n" for key in keys.tolist()).encode())
        connection.execute(f"ANALYZE {TABLE}".encode())


def main() -> None:
    """Measure all ways and print a table; exit with 1 if a bound is broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("address")
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--way", choices=WAYS)
    asked = parser.parse_args()
    if asked.way:
        run(asked.way, asked.address)
        return
    prepare(asked.address, asked.rows)
    found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(ROUNDS):
        for way in WAYS:
            command = [sys.executable, "-m", "benchmarks.databases", asked.address, "--way", way]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found[way].append(json.loads(done.stdout))
    base = median(each["cpu"] for each in found["adbc"])
    print("| way | CPU s | of ADBC alone | peak MB |\n|---|---|---|---|")
    broken = False
    for way, each in found.items():
        cpu, peak = median(one["cpu"] for one in each), max(one["peak"] for one in each)
        print(f"| {way} | {cpu:.2f} | {cpu / base:.2f} | {peak:.0f} |")
        broken |= cpu > MOST.get(way, 1) * base or (way in MOST and peak > MEMORY)
    sys.exit(broken)


if __name__ == "__main__":
    main()
