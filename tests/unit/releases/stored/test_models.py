import pytest

from hushcount.keys.domains import IntegerRange, KnownKeys
from hushcount.mechanisms.counters.floor import FloorError
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.releases.stored.models import (
    DOMAINS,
    MODELS,
    TABLES,
    TREES,
    NamedDomain,
    model_from,
    model_plain,
)

FLOOR = FloorError(DiscreteLaplace(0.5), -3, 64, 17)
PLAIN = {
    "name": "floor",
    "noise": {"name": "discrete-laplace", "epsilon": "0.5"},
    "floor": -3,
    "candidates": 64,
    "threshold": 17,
}


def test_a_model_is_its_name_and_its_fields():
    assert model_plain(FLOOR) == PLAIN
    assert model_from(PLAIN, TABLES) == FLOOR


def test_files_of_earlier_versions_lack_the_threshold():
    earlier = {name: value for name, value in PLAIN.items() if name != "threshold"}
    error = model_from(earlier, TABLES)
    assert error == FloorError(DiscreteLaplace(0.5), -3, 64)
    assert error.full_from(0.95) is None
    assert error.sentences(0.95)[0].startswith("With confidence 0.95 the true count of a key chosen before")


def test_a_model_that_the_table_lacks_is_not_written():
    assert model_plain(object()) is None


def test_every_model_loads():
    assert len(dict(MODELS.items())) == len(MODELS)
    assert set(TABLES) | set(TREES) < set(MODELS)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "totals"},
        {"name": []},
        {"floor": None},
        {"candidates": 0},
        {"noise": {"name": "budget", "epsilon": "1", "delta": "0.1"}},
        {"noise": {"name": "discrete-laplace", "epsilon": "0"}},
        {"more": 1},
    ],
)
def test_other_fields_are_refused(change):
    with pytest.raises((ValueError, TypeError)):
        model_from(PLAIN | change, TABLES)


def test_a_list_of_keys_is_named_and_not_written():
    known = KnownKeys.of(["secret", "tea"])
    plain = model_plain(known)
    assert plain == {"name": "known-keys", "size": 2, "digest": known.digest}
    assert model_from(plain, DOMAINS) == NamedDomain(2, known.digest)
    assert model_plain(NamedDomain(2, known.digest)) == plain
    assert model_from(model_plain(IntegerRange(1, 9)), DOMAINS) == IntegerRange(1, 9)
