"""Where no cache folder can be written, the loops are compiled without one, and that is said once."""

import os
import subprocess
import sys

from hushcount.compiled.kernel import NO_CACHE

# Makes numba find no place for its cache, as for a package in a folder that cannot be written.
PROGRAM = """
import sys
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []
caching.CompileResultCacheImpl._locator_classes = []
import hushcount as hc
sketch = hc.SpaceSaving(counters=10)
sketch.update([1, 2, 1] * 4)  # fewer rows than counters need no kernel
print(sketch.estimate([1, 2, 3]).tolist())
"""


def test_compiles_without_a_cache(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=tmp_path)
    assert done.stdout == "[8, 4, 0]\n"
    assert done.stderr == f"{NO_CACHE}\n"
