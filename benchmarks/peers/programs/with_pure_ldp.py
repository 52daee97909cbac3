"""pure-ldp: frequency oracles of whole numbers in the local model, client and server in one process."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from common import Asked, Published, serve
from pure_ldp.frequency_oracles import (
    HadamardResponseClient,
    HadamardResponseServer,
    LHClient,
    LHServer,
    UEClient,
    UEServer,
)
from pyarrow import parquet

ITEMS = 1024


def estimated(name: str, make: Callable[[float], tuple[Any, Any]]) -> Callable[[Asked], Published]:
    """Return the task that reports every row by a client and estimates every item by the server."""

    def task(asked: Asked) -> Published:
        client, server = make(asked.epsilon)
        for item in parquet.read_table(asked.path)["key"].to_pylist():
            server.aggregate(client.privatise(int(item) + 1))
        estimates = server.estimate_all(range(1, ITEMS + 1))
        return Published(
            version("pure-ldp"), name, [str(item) for item in range(ITEMS)], list(map(float, estimates))
        )

    return task


def hashing(epsilon: float) -> tuple[Any, Any]:
    """Optimal local hashing."""
    return LHClient(epsilon, ITEMS, use_olh=True), LHServer(epsilon, ITEMS, use_olh=True)


def unary(epsilon: float) -> tuple[Any, Any]:
    """Optimised unary encoding."""
    return UEClient(epsilon, ITEMS, use_oue=True), UEServer(epsilon, ITEMS, use_oue=True)


def hadamard(epsilon: float) -> tuple[Any, Any]:
    """Hadamard response; client and server share the code words."""
    server = HadamardResponseServer(epsilon, ITEMS)
    return HadamardResponseClient(epsilon, ITEMS, server.get_hash_funcs()), server


serve(
    {
        "hashing": estimated("optimal local hashing", hashing),
        "unary": estimated("optimised unary encoding", unary),
        "hadamard": estimated("Hadamard response", hadamard),
    }
)
