"""The facts of a report: what a registry of deployments asks for, and nothing that hushcount cannot know."""

from dataclasses import replace
from datetime import UTC, datetime

from tests.releases import release_of
from tests.unit.releases.tree_example import tree

import hushcount as hc
from hushcount.privacy import LOCAL_USER
from hushcount.releases.made import Made
from hushcount.releases.views.report_facts import LOCAL, origin, registry

ROWS = [("tea", 900), ("milk", 300)]


def test_a_registry_gets_its_facts():
    facts = dict(registry(release_of(ROWS)))
    assert list(facts) == [
        "Publisher, purpose and data set",
        "Model",
        "Unit of privacy",
        "Neighbouring data sets",
        "Definition",
        "Budget",
        "Mechanism",
        "What is public",
        "Composition over time",
        "Account of the budget",
        "Post-processing",
        "Accuracy",
        "Implementation",
    ]
    assert facts["Unit of privacy"] == "One event: one event, not one person."
    assert facts["Neighbouring data sets"] == "Add or remove one event."
    assert facts["Budget"] == "epsilon = 1 (a factor of at most 2.72), delta = 1e-08, for this release."
    assert facts["Mechanism"] == "floor release; proof: docs/proofs/counters/floor.md."
    assert facts["What is public"].endswith(
        "Which keys occur is not taken as public: their names are protected too."
    )
    assert "k times epsilon" in facts["Composition over time"]


def test_local_and_pure_releases():
    release = release_of(ROWS)
    local = replace(release, guarantee=replace(release.guarantee, unit=LOCAL_USER, delta=0.0))
    facts = dict(registry(local))
    assert facts["Model"] == LOCAL
    assert facts["Definition"] == "Pure differential privacy."
    assert facts["Account of the budget"] == "None: the clients spend their own budgets."
    pure = replace(release, guarantee=replace(release.guarantee, delta=0.0))
    assert dict(registry(pure))["What is public"].endswith("The list of all keys that can occur is public.")


def test_where_a_release_comes_from():
    facts = dict(origin(release_of(ROWS), datetime(2026, 11, 16, 12, 30, tzinfo=UTC)))
    assert facts["Report written"] == "2026-11-16 12:30 UTC"
    assert facts["Software"].startswith(f"hushcount {hc.__version__}, Python 3.")
    assert facts["Public parameters"] == "confidence = 0.95, threshold = 22, noisy floor = 4"
    assert facts["Proof"] == "docs/proofs/counters/floor.md, in the documentation of hushcount"
    assert dict(origin(tree(), datetime.now(UTC)))["Mechanism"] == "tree release"


def test_how_it_was_made_and_its_entry_of_a_ledger():
    options = {"epsilon": "1", "dataset": "searches", "run_id": "nightly-1"}
    made = Made("0.9", "2026-11-16T18:30:00Z", options, "searches of November")
    release = replace(release_of(ROWS), made=made)
    facts = dict(origin(release, datetime.now(UTC)))
    assert facts["Noise drawn"] == "2026-11-16T18:30:00Z, by hushcount 0.9"
    assert facts["Options"] == "epsilon = 1, dataset = searches, run_id = nightly-1"
    assert facts["Data"] == "searches of November"
    recorded = "Recorded in a ledger before the noise was drawn: dataset searches, run id nightly-1."
    assert facts["Budget ledger"] == recorded
    assert dict(registry(release))["Account of the budget"] == recorded
    assert dict(registry(release_of(ROWS)))["Account of the budget"].startswith("No entry is stated")
