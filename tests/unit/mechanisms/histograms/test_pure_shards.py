"""Several sketches over a public domain: what a release costs, states and refuses (whole texts)."""

from dataclasses import replace
from decimal import Decimal

import pytest
from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.accounting.charges import Event
from hushcount.errors import NotProvedError, ParameterError
from hushcount.jobs.release import release
from hushcount.jobs.trust.verify import verify
from hushcount.keys.domains import IntegerRange
from hushcount.mechanisms.registry import prepare
from hushcount.privacy import USER, Budget
from hushcount.shapes import Public, Shards


def sketch_of(keys, counters=9):
    sketch = hc.SpaceSaving(counters=counters)
    sketch.update(keys)
    return sketch


def parts(**sizes):
    return [sketch_of([1] * 400 + [2] * 300), sketch_of([1] * 100 + [3] * 500, **sizes)]


PURE = {"epsilon": 1.0, "delta": 0, "domain": "0..99"}


def test_it_is_the_default_of_several_sketches_with_a_domain():
    made = release(parts(), bits=SeededBits(1), **PURE)
    assert made.guarantee.mechanism == "pure release of shards over a public domain"
    assert made.guarantee.parameters == {"domain_size": 100, "candidates": 8, "shards": 2}
    assert (made.guarantee.epsilon, made.guarantee.delta) == (1.0, 0)
    assert made.keys["key"].to_pylist()[:3] == [3, 1, 2]
    assert verify(made.to_json().encode()).holds


def test_it_is_charged_its_epsilon():
    public = Public(candidates=8, parts=9, domain=IntegerRange(0, 99), shape=Shards)
    event = prepare(None, Budget.pure(0.1), public).event()
    assert event == Event(Decimal("0.1"), Decimal(0))


def test_users_of_several_rows_are_protected_together():
    sketches = parts()
    for sketch in sketches:
        sketch.unit = replace(USER, rows=4)
    made = release(sketches, **PURE)
    assert made.guarantee.mechanism == "pure release of shards over a public domain for groups of 4 rows"
    assert made.guarantee.parameters["row_epsilon"] == pytest.approx(0.25)


def test_the_upper_ends_need_a_public_length():
    unknown = "count is a lower estimate; max_events would bound what the sketch left out of it."
    assert release(parts(), **PURE).accuracy().sentences[1] == unknown
    assert release(parts(), max_events=1800, **PURE).accuracy().sentences[1] == (
        "count is a lower estimate; the sketch may have left out up to 200 of it, by max_events and its"
        " counters."
    )


def refused(error, sketches, **options):
    with pytest.raises(error) as raised:
        release(sketches, **{**PURE, **options})
    return str(raised.value)


def test_what_is_refused():
    assert refused(NotProvedError, parts(counters=8)) == (
        "pure-shards is proved for sketches with the same number of counters; count every part with as many"
        " counters."
    )
    same = sketch_of([1])
    assert refused(ParameterError, [same, same]) == (
        "sketches must be of disjoint parts, got the same sketch twice."
    )
    assert refused(ParameterError, parts(), domain=None) == (
        "delta must be strictly between 0 and 1, got 0; or give a public domain."
    )
    assert refused(ParameterError, parts(), domain=None, delta=1e-6, mechanism="pure-shards") == (
        "pure-shards needs domain, a public list of keys, got None."
    )
    assert refused(ParameterError, parts(), mechanism="pure") == (
        "mechanism must be pure-shards with a domain and several sketches, got pure."
    )
    assert refused(ParameterError, sketch_of([1]), mechanism="pure-shards") == (
        "mechanism must be one of pure, pure-bounded with a domain, got pure-shards."
    )
    assert refused(NotProvedError, sketch_of([1]), domain=None, delta=1e-6, mechanism="pure-shards") == (
        "pure-shards is proved for a list of SpaceSaving or MisraGries sketches, not for a single SpaceSaving"
        " or MisraGries stream; give a list of SpaceSaving or MisraGries sketches."
    )
