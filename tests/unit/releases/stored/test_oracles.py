import json

import numpy as np
import pyarrow as pa
import pytest
from tests.made import made

import hushcount as hc
from hushcount.errors import ReleaseFileError
from hushcount.releases.made import Made
from hushcount.releases.stored.exact import canonical, digest

MADE = Made("0.1.0", "2026-11-16T18:30:00Z", {"depth": 5}, "visits", {"mechanism": "noisy-cells"})


def test_an_oracle_answers_the_same_after_reading():
    oracle = made("noisy-cells")
    again = hc.read_release(oracle.to_json().encode())
    assert np.array_equal(again.cells, oracle.cells)
    assert again.estimate(["key 3", "unseen"]) == oracle.estimate(["key 3", "unseen"])
    assert again.key_type == pa.string()
    assert again.to_bytes() == oracle.to_bytes()


@pytest.mark.parametrize(
    "change",
    [
        {"cells": []},
        {"cells": [0] * 319 + ["4611686018427387904"]},
        {"hash_key": "00"},
        {"guarantees": []},
        {"key_type": "list<item: int64>"},
        {"width": 65},
        {"sketch": "exact"},
        {"rows": []},
        {"made": {}},
    ],
)
def test_parts_that_do_not_fit_are_refused(change):
    values = json.loads(made("noisy-cells").to_json()) | change
    forged = canonical(values | {"digest": digest(values)})
    if "rows" in change:  # which follows from the rest and is not read
        assert hc.read_release(forged).ids == made("noisy-cells").ids
        return
    with pytest.raises(ReleaseFileError):
        hc.read_release(forged)


def test_how_it_was_made_is_kept():
    from dataclasses import replace

    oracle = replace(made("noisy-cells"), made=MADE)
    assert hc.read_release(oracle.to_json().encode()).made == MADE
    release = replace(made("floor"), made=replace(MADE, source_name=None, recipe=None))
    assert hc.read_release(release.to_json().encode()).made == release.made
