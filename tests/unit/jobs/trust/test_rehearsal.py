"""From its recipe alone, a mechanism gives the same guarantee and the same error model, without any data."""

import json

import pytest
from tests.made import MAKERS, made

from hushcount.errors import HushcountError
from hushcount.jobs.trust.rehearsal import rehearsed
from hushcount.releases.oracle import Oracle
from hushcount.releases.stored.models import model_plain

RECIPES = [name for name in MAKERS if name != "sum" and not name.startswith("local")]
DRAWN = ("floor", "floors", "measured", "domain")  # noisy, or a list of keys that is not in the recipe


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_gives_the_guarantee_and_the_error_model(name):
    release = made(name)
    recipe = json.loads(json.dumps(release.made.recipe))
    again = rehearsed(recipe)
    assert type(again) is type(release)
    promise, own = again.guarantee, release.guarantee
    assert own.assumptions[: len(promise.assumptions)] == promise.assumptions
    assert {**own.to_dict(), "assumptions": []} == {**promise.to_dict(), "assumptions": []}
    assert again.made.recipe | {"domain": None} == recipe | {"domain": None}
    if isinstance(release, Oracle):
        return
    models = [model_plain(each.error) | dict.fromkeys(DRAWN) for each in (release, again)]
    assert models[0] == models[1]


def test_recipes_hold_public_numbers_only():
    assert made("floor").made.recipe == {
        "mechanism": "floor",
        "epsilon": "1",
        "delta": "1e-06",
        "unit": "event",
        "rows": 1,
        "summary": "counters",
        "candidates": 63,
        "parts": 64,
    }
    for name in RECIPES:
        assert "key 0" not in json.dumps(made(name).made.recipe)


@pytest.mark.parametrize(
    "change",
    [
        {"mechanism": "nothing"},
        {"mechanism": "sample-keys"},
        {"mechanism": "chan", "summary": "counts"},
        {"summary": "nothing"},
        {"unit": "planet"},
        {"epsilon": "0"},
        {"epsilon": 1},
        {"candidates": 0},
        {"rows": 0},
        {"domain": {"name": "integer-range", "first": 0, "last": 9}, "candidates": 1 << 30},
    ],
)
def test_other_recipes_are_refused(change):
    with pytest.raises((HushcountError, ValueError, LookupError, StopIteration)):
        rehearsed({**made("floor").made.recipe, **change})
