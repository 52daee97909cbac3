"""The pytest plugin: a fixture that audits a mechanism, and a marker that holds its claim."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hushcount.audit.check import Audit, Run

MARKER = (
    "audit(epsilon, delta, ...): the claim that the fixture `audit` checks, and other options of hc.audit."
)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, so that pytest knows it."""
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def audit(request: pytest.FixtureRequest) -> Callable[..., Audit]:
    """Return a function that audits a mechanism at the claim of the marker; a refuted claim fails the test.

    It takes what `hc.audit` takes; the marker `audit` gives epsilon, delta and whatever else is not given.
    """
    marker = request.node.get_closest_marker("audit")
    claim = {} if marker is None else marker.kwargs

    def checked(run: Run | None = None, **options: object) -> Audit:
        from hushcount.audit.check import audit as audited

        found = audited(run, **(claim | options))
        if found.refuted:
            pytest.fail(str(found), pytrace=False)
        return found

    return checked
