"""The sets of users as a sketch: public numbers are the same before and after reading."""

import pyarrow as pa

from hushcount.jobs.keys.sets import UserSets
from hushcount.mechanisms.keys.calibration import weights
from hushcount.privacy import USER
from hushcount.shapes import KeySets


def test_public_numbers_do_not_change():
    sets = UserSets(7)
    before = sets.public()
    sets.update(pa.StructArray.from_arrays([pa.array([1, 1, 2]), pa.array(["a", "b", "a"])], ["user", "key"]))
    assert sets.public() == before == sets.shape().public()
    assert (before.moved, before.shape, before.unit, before.unit.rows) == (7, KeySets, USER, 7)
    assert sets.total == 3
    found = [(keys.to_pylist(), sums.tolist()) for keys, sums in sets.shape().sums(weights(7), None)]
    assert found == [(["a", "b"], [724 + 1024, 724])]
