"""Keys: columns of data turned into the keys that are counted, and back.

`hc.keys(data, epsilon=, delta=, column=, user=, ...)` publishes which keys exist; all of it is described in
`hushcount.jobs.keys.keys`.

The folder and the public function have one name, so the module itself can be called.
"""

from __future__ import annotations

import sys
from types import ModuleType


class _CallableKeys(ModuleType):
    """A module that publishes keys when it is called, with the arguments of `hc.keys`."""

    def __call__(self, *given: object, **named: object) -> object:
        from hushcount.registry import Registry

        return Registry[object]("name", {"keys": "hushcount.jobs.keys:keys"})["keys"](*given, **named)  # type: ignore[operator]


sys.modules[__name__].__class__ = _CallableKeys
