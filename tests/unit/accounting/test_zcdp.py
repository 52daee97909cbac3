"""Budgets in rho on the way through jobs: stated once, shown beside epsilon, verified, or refused."""

import json
from dataclasses import replace

import pytest

import hushcount as hc
from hushcount.cli.main import main
from hushcount.errors import ParameterError

WAY_OUT = (
    "rho is for releases whose cost is proved in zCDP; {} needs epsilon, with delta. Proved are Gaussian"
    " counts of users (max_keys given with user), count-sketch oracles and streaming trees."
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
    "oracle": lambda **budget: hc.oracle(["a"] * 900, width=64, **budget),
    "tree": lambda **budget: hc.tree(
        ["/a/b"] * 900, hierarchy="path/2", threshold=300, method="streaming", **budget
    ),
}
OTHERS = {
    "floor": lambda **budget: hc.top(["a"] * 900, **budget),
    "sample": lambda **budget: hc.sample(["a"] * 900, rate=0.1, **budget),
    "hierarchy-offline": lambda **budget: hc.tree(["/a"] * 900, hierarchy="path/2", threshold=300, **budget),
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
        "--rho is for releases whose cost is proved in zCDP; floor needs --epsilon, with delta. Proved are"
        " Gaussian counts of users (--max-keys given with --user), count-sketch oracles and streaming trees."
    )
    assert main(["top", str(path), *common]) == 2
    error = json.loads(capfd.readouterr().err)["error"]["message"]
    assert error.startswith("--epsilon must be given: limit on the privacy loss, such as 1;")
