"""Windows are of the zone that is named, and stored in UTC."""

import pytest

from hushcount.errors import ParameterError
from hushcount.jobs.trust.windows import window_of


def test_days_of_a_zone():
    assert str(window_of("2026-11-15")) == "2026-11-15T00:00:00Z/2026-11-16T00:00:00Z"
    assert str(window_of("2026-11-15", "America/New_York")) == "2026-11-15T05:00:00Z/2026-11-16T05:00:00Z"


@pytest.mark.parametrize("name", ["Nowhere", "", "../etc/passwd", "Europe"])
def test_unknown_zones(name):
    with pytest.raises(ParameterError) as refused:
        window_of("2026-11-15", name)
    assert str(refused.value) == f"time_zone must be a name such as Europe/Zurich, got {name}."
