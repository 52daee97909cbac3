"""Checks of a privacy claim that anybody can repeat.

`hc.audit(run, epsilon=, delta=, shape="one-key", pair=None, distribution=None, seconds=10)` makes one; all of
it is described in `hushcount.audit.check.audit`.

The folder and the public function have one name, so the module itself can be called.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hushcount.audit.check import Audit


class _CallableRoom(ModuleType):
    """A module that makes an audit when it is called, with the arguments of `check.audit`."""

    def __call__(self, *given: object, **named: object) -> Audit:
        from hushcount.audit.check import audit

        return audit(*given, **named)  # type: ignore[arg-type]


sys.modules[__name__].__class__ = _CallableRoom
