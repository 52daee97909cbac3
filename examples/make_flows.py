"""Make flows.parquet: source addresses of flows through a network that does not exist, the same every time.

The addresses have the structure of experiments/hierarchy/flows.py: a few heavy hosts, and networks that are
heavy because of many light hosts. Run it as `python -m examples.make_flows`.
"""

from __future__ import annotations

from ipaddress import IPv4Address
from pathlib import Path

import pyarrow as pa
from experiments.hierarchy.flows import addresses
from pyarrow import parquet

ROWS = 100_000
PATH = Path(__file__).parent / "flows.parquet"


def table() -> pa.Table:
    """The flows, one a row."""
    return pa.table({"source": [str(IPv4Address(int(address))) for address in addresses(ROWS, seed=5)]})


if __name__ == "__main__":
    parquet.write_table(table(), PATH, compression="zstd", compression_level=19)
