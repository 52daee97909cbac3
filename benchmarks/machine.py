"""What a figure depends on: the processor and the versions of what was measured; no names or paths."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

LIBRARIES = ("numpy", "numba", "pyarrow", "duckdb", "polars", "datasketches", "opendp")


def facts() -> dict[str, object]:
    """Cores, processor, memory, system, Python and library versions."""
    return {
        "cores": os.cpu_count(),
        "processor": _field("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in LIBRARIES},
    }


def _field(path: str, name: str) -> str | None:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), None)
