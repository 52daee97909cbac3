"""Budgets in rho on the way through jobs: stated once, shown beside epsilon, verified, or refused."""

import json
from dataclasses import replace
from functools import partial

import pytest

import hushcount as hc
from hushcount.accounting.filter import Filter
from hushcount.cli.main import main
from hushcount.errors import ParameterError

WAY_OUT = (
    "rho is for Gaussian noise, and {} has none; it needs epsilon, with delta. Gaussian noise is that of"
    " counts and keys of users (max_keys given with user), of trees, count-sketch oracles,"
    " count-sketch-envelope and measured-envelope."
)
BUDGET = {"rho": 0.1, "delta": 1e-6}


def users():
    import pandas as pd

    return pd.DataFrame({"who": range(900), "key": ["a"] * 900})


GAUSSIAN = {
    "exact users": lambda **budget: hc.top(
        users(), column="key", user="who", max_keys=3, exact=True, **budget
    ),
    "users": lambda **budget: hc.top(users(), column="key", user="who", max_keys=3, counters=64, **budget),
    "correlated": lambda **budget: hc.top(
        users(), column="key", user="who", max_keys=3, counters=64, mechanism="correlated", **budget
    ),
    "users by independent noise": lambda **budget: hc.top(
        users(), column="key", user="who", max_keys=3, counters=64, mechanism="gaussian", **budget
    ),
    "tree of users": lambda **budget: hc.tree(
        users(), column="key", user="who", max_keys=3, hierarchy="path/2", threshold=300, **budget
    ),
    "tree of one key of users": lambda **budget: hc.tree(
        users(), column="key", user="who", max_keys=1, hierarchy="path/2", threshold=300, **budget
    ),
    "offline tree": lambda **budget: hc.tree(["/a"] * 900, hierarchy="path/2", threshold=300, **budget),
    "envelope": lambda **budget: hc.top(
        ["a"] * 900, mechanism="count-sketch-envelope", max_events=1000, counters=64, **budget
    ),
    **{
        f"keys {method}": partial(hc.keys, users(), column="key", user="who", method=method)
        for method in ("weighted", "sips", "steered")
    },
    "oracle": lambda **budget: hc.oracle(["a"] * 900, width=64, **budget),
    "tree": lambda **budget: hc.tree(
        ["/a/b"] * 900, hierarchy="path/2", threshold=300, method="streaming", **budget
    ),
}
OTHERS = {
    "floor": lambda **budget: hc.top(["a"] * 900, **budget),
    "sample": lambda **budget: hc.sample(["a"] * 900, rate=0.1, **budget),
    "keys-events": partial(hc.keys, ["a"] * 900),
    "count-min-envelope": lambda **budget: hc.top(
        ["a"] * 900, mechanism="count-min-envelope", max_events=1000, counters=64, **budget
    ),
    "chosen-bound": lambda **budget: hc.top(users(), column="key", user="who", max_keys="auto", **budget),
    "count-min": lambda **budget: hc.oracle(["a"] * 900, kind="count-min", **budget),
    "truncated-geometric": lambda **budget: hc.release(hc.Exact(), **budget),
}


@pytest.mark.parametrize("name", GAUSSIAN)
def test_gaussian_releases_state_rho_beside_epsilon_and_are_verified(name):
    release = GAUSSIAN[name](**BUDGET)
    promise = release.guarantee
    assert (promise.epsilon, promise.delta, promise.parameters["rho"]) == (2.141938929, 1e-6, 0.1)
    assert promise.statement().startswith(
        "(2.14194, 1e-06)-differential privacy (rho = 0.1 in zCDP, but for delta) for one "
    )
    assert hc.verify(release.to_json().encode()).holds
    forged = replace(promise, parameters={**promise.parameters, "rho": 0.01})
    names = {"guarantees": (forged,)} if isinstance(release, hc.Oracle) else {"guarantee": forged}
    assert not hc.verify(replace(release, **names).to_json().encode()).holds


@pytest.mark.parametrize("name", OTHERS)
def test_other_noise_refuses_rho_with_the_way_out(name):
    with pytest.raises(ParameterError) as refused:
        OTHERS[name](**BUDGET)
    assert str(refused.value) == WAY_OUT.format(name)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: hc.tree(
                users(),
                column="key",
                user="who",
                max_keys=3,
                hierarchy="path/2",
                threshold=300,
                method="streaming",
                **BUDGET,
            ),
            "rho is for one row of each user in a streaming tree; leave out method, and users are counted at"
            " every node.",
        ),
        (
            lambda: hc.top(users(), column="key", user="who", max_keys=3, mechanism="floor", **BUDGET),
            WAY_OUT.format("floor"),
        ),
        (
            lambda: hc.top(users(), column="key", user="who", max_keys=3, keep_duplicates=True, **BUDGET),
            WAY_OUT.format("floor"),
        ),
        (
            lambda: hc.top(users(), column="key", user="who", max_keys=3, counters=64, rho=1e-14, delta=1e-6),
            "rho is too small for mechanism correlated, got 1e-14.",
        ),
        (
            lambda: hc.keys(users(), column="key", user="who", rho=1e-14, delta=1e-6),
            "rho is too small: sigma would exceed 1e+08.",
        ),
    ],
)
def test_what_rho_is_not_for_is_refused_with_the_way_out(call, message):
    with pytest.raises(ParameterError) as refused:
        call()
    assert str(refused.value) == message


def test_a_tracked_sketch_is_sized_and_released_by_rho():
    size = {"max_events": 20_000, "mechanism": "count-sketch-envelope", **BUDGET}
    sketch = hc.tracked_sketch(100, **size)
    sketch.update(["tea"] * 9_000 + ["milk"] * 5_000)
    sketch.update(["milk"] * 4_900, weights=[-1] * 4_900)
    release = hc.release(sketch, **size)
    assert release.table["key"].to_pylist() == ["tea"]
    assert release.guarantee.parameters["rho"] == 0.1
    assert hc.verify(release.to_json().encode()).holds


@pytest.mark.parametrize(
    "options",
    [
        {"max_keys": 3, "counters": 64},
        {"max_keys": 3, "counters": 64, "mechanism": "gaussian"},
        {"mechanism": "count-sketch-envelope", "max_events": 10**6, "counters": 4096},
    ],
)
def test_plans_and_releases_by_rho_foretell_the_same(options):
    found = hc.plan(100_000, **BUDGET, **options)
    who = {"user": "who"} if "max_keys" in options else {}
    dry = hc.top(users(), column="key", dry_run=True, **who, **BUDGET, **options)
    assert (found.rho, found.epsilon) == (0.1, 2.141938929)
    if "max_keys" in options:
        assert dry.expected.smallest_count <= found.smallest_count


def test_a_ledger_charges_every_gaussian_release_its_rho(tmp_path):
    """Rhos add up: seven releases of .1 fit a ledger of .7, and an eighth does not."""
    book = hc.Ledger(tmp_path / "l.db")
    book.init("visits", rho="0.7", delta="1e-4", unit="user")
    names = [
        "exact users",
        "users",
        "tree of users",
        "keys weighted",
        "keys sips",
        "keys steered",
        "correlated",
    ]
    spending = {"ledger": tmp_path / "l.db", "dataset": "visits"}
    for name in names:
        GAUSSIAN[name](**BUDGET, **spending, run_id=name)
    charged = [entry for entry in book.history("visits") if entry["kind"] == "reserve"]
    assert len(charged) == len(names)
    assert all(0.099 < float(entry["rho"]) <= 0.1 for entry in charged)
    with pytest.raises(hc.errors.BudgetExceeded):
        GAUSSIAN["users by independent noise"](**BUDGET, **spending, run_id="one more")


@pytest.mark.parametrize("budget", [{"delta": 1e-6}, {"epsilon": 1.0, "rho": 0.1, "delta": 1e-6}])
@pytest.mark.parametrize("call", [*GAUSSIAN.values(), *OTHERS.values()])
def test_a_budget_is_stated_once(call, budget):
    with pytest.raises(
        ParameterError, match=r"^Give either epsilon, or rho, which is for Gaussian noise, but not both\.$"
    ):
        call(**budget)


def test_a_plan_by_rho():
    found = hc.plan(100_000, rho=0.1, delta=1e-6, max_keys=3, exact=True)
    assert (found.rho, found.epsilon, found.mechanism) == (0.1, 2.141938929, "exact")
    assert "rho = 0.1 is an epsilon of 2.14194 at delta = 1e-06." in found.sentences
    assert found.to_dict()["rho"] == 0.1
    assert len(found.by_epsilon) > 3
    assert sorted(each.epsilon for each in found.by_epsilon) == [each.epsilon for each in found.by_epsilon]
    assert (
        found.smallest_count
        == hc.top(
            users(), column="key", user="who", max_keys=3, exact=True, dry_run=True, **BUDGET
        ).expected.smallest_count
    )
    with pytest.raises(ParameterError) as refused:
        hc.plan(100_000, rho=0.1, delta=1e-6)
    assert str(refused.value) == WAY_OUT.format("floor")


def test_the_commands_take_rho(tmp_path, capfd):
    path = tmp_path / "visits.csv"
    path.write_text("who,key\n" + "".join(f"{row},a\n" for row in range(900)))
    common = ("--column", "key", "--delta", "1e-6", "--json")
    users = ("--user", "who", "--max-keys", "3", "--exact")
    assert main(["top", str(path), *common, *users, "--rho", "0.1"]) == 0
    said = json.loads(capfd.readouterr().out)
    assert said["guarantee"]["parameters"]["rho"] == {"number": "0.1"}
    assert main(["top", str(path), *common, "--rho", "0.1"]) == 2
    error = json.loads(capfd.readouterr().err)["error"]["message"]
    assert error == (
        "--rho is for Gaussian noise, and floor has none; it needs --epsilon, with delta. Gaussian noise is"
        " that of counts and keys of users (--max-keys given with --user), of trees, count-sketch oracles,"
        " count-sketch-envelope and measured-envelope."
    )
    assert main(["top", str(path), *common]) == 2
    error = json.loads(capfd.readouterr().err)["error"]["message"]
    assert error.startswith("--epsilon must be given: limit on the privacy loss, such as 1;")


def test_an_epsilon_that_was_typed_is_not_taken_for_one_of_rho():
    """Of these, (1, 1e-8), (6, 1e-6) and 47 others follow by chance from a rho, of 17 or 18 decimals."""
    tenths = [str(place / 10) for place in range(1, 101)]
    assert not any(Filter.fixed(each, delta).in_rho for each in tenths for delta in ("1e-5", "1e-6", "1e-8"))
    assert all(Filter.zcdp(each, delta).in_rho for each in tenths for delta in ("1e-5", "1e-6", "1e-8"))
