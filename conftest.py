"""Runs of the tests repeat: each test and each fixture draws its noise from a stream that its name fixes.

A table that a test releases is then the same in every run, so a failure can be looked at again and a test
that passed does not fail by chance on another machine. HUSHCOUNT_FRESH_NOISE=1 draws everything anew instead.
Programs that a test starts as processes of their own always draw from the operating system.
"""

import hashlib
import os
from collections.abc import Generator
from typing import TypeVar

import hypothesis
import numpy as np
import pytest

from hushcount import secure

T = TypeVar("T")
FRESH = os.environ.get("HUSHCOUNT_FRESH_NOISE") == "1"
system_bytes = secure.SystemBytes.bytes

hypothesis.settings.register_profile("repeatable", derandomize=not FRESH, deadline=None)
hypothesis.settings.load_profile("repeatable")


class NamedBytes:
    """The bytes that follow from a name."""

    def __init__(self, name: str) -> None:
        seed = int.from_bytes(hashlib.sha256(name.encode()).digest(), "big")
        self._generator = np.random.Generator(np.random.PCG64DXSM(seed))

    def bytes(self, count: int) -> bytes:
        """Return the next bytes."""
        return self._generator.bytes(count)


streams: list[NamedBytes] = []


def named_bytes(_: secure.SystemBytes, count: int) -> bytes:
    """Return bytes of the stream of what runs now, or of the operating system where no test runs."""
    return streams[-1].bytes(count) if streams else os.urandom(count)


def within(name: str) -> Generator[None, T, T]:
    """Draw from the stream of this name until the hook that it wraps is done.

    A fixture inside a test has a stream of its own, so the tests that share it do not change it.
    """
    streams.append(NamedBytes(name))
    try:
        return (yield)
    finally:
        streams.pop()


def pytest_configure() -> None:
    """Take the place of the operating system's bytes, in this process and not in its children."""
    if not FRESH:
        setattr(secure.SystemBytes, "bytes", named_bytes)  # noqa: B010
        os.register_at_fork(after_in_child=lambda: setattr(secure.SystemBytes, "bytes", system_bytes))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, T, T]:
    """Give every test a stream of its own."""
    return (yield from within(item.nodeid))


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
) -> Generator[None, T, T]:
    """Give every fixture a stream of its own, which does not depend on the test that asked for it first."""
    return (yield from within(f"{request.node.nodeid}::{fixturedef.argname}::{request.param_index}"))
