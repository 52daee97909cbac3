"""Group privacy: a release that protects one row, read as one that protects all rows of a user."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hushcount.mechanisms.user_routes import group_budget
from hushcount.privacy import USER, Budget

if TYPE_CHECKING:
    from hushcount.releases.release import Release

PROOF = "docs/proofs/sources/bounding.md"


def row_budget(budget: Budget, rows: int) -> Budget:
    """The budget for one row at which up to `rows` rows together cost `budget`; delta 0 stays 0."""
    if budget.delta:
        return group_budget(budget.epsilon, budget.delta, rows)
    return Budget.pure(group_budget(budget.epsilon, 0.5, rows).epsilon)


def for_users(release: Release, budget: Budget, rows: int) -> Release:
    """The same release with its guarantee for one user of at most `rows` rows.

    Theorem: what is (epsilon', delta')-DP for one row is (epsilon, delta)-DP for `rows` rows, where
        epsilon' = epsilon / rows and delta' = delta (exp(epsilon') - 1) / (exp(epsilon) - 1).
    Neighbours: add or remove one user, with at most `rows` rows.
    Assumes: the order of all other rows does not change.
    Proof: docs/proofs/sources/bounding.md, section 2. Checked by: tests/privacy/test_bounding.py
    """
    own = release.guarantee
    parameters = {"max_rows": rows, "row_epsilon": own.epsilon, "row_delta": own.delta}
    guarantee = replace(
        own,
        epsilon=budget.epsilon,
        delta=budget.delta,
        unit=USER,
        mechanism=f"{own.mechanism} for groups of {rows} rows",
        theorem=f"{own.theorem} Rows of one user together: group privacy.",
        proof=f"{own.proof}, {PROOF}",
        parameters={**own.parameters, **parameters},
    )
    return replace(release, guarantee=guarantee)
