"""Kernels that are imported when one of them is first used.

To load numba and a kernel takes a third of a second: as long as counting 30 million rows, and longer than
a small table takes in all.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Late:
    """Stands for a module of kernels until one of its names is asked for."""

    def __init__(self, module: str) -> None:
        self.__dict__["__name__"] = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__dict__["__name__"]), name)
        self.__dict__[name] = value
        return value


def late(module: str) -> Any:
    """Return what stands for a module of kernels of one's own room; the tests of imports see its name.

    Parameters
    ----------
    module : str
        The full name of the module.
    """
    return Late(module)
