"""Kernels that are imported when they are first used."""

import sys

import pytest

from hushcount.compiled.late import late


def test_a_module_is_imported_when_it_is_used():
    name = "hushcount.hierarchies._kernels.dates"
    sys.modules.pop(name, None)
    stands = late(name)
    assert name not in sys.modules
    assert stands.parse_dates is sys.modules[name].parse_dates
    assert "parse_dates" in vars(stands)


def test_what_a_module_lacks():
    with pytest.raises(AttributeError, match="nothing"):
        _ = late("hushcount.compiled._kernels.intrinsics").nothing
