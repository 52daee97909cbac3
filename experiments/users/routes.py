"""Write docs/user-routes.md: the smallest count that each user-level route publishes reliably.

Run from the root of the repository: python experiments/users/routes.py
"""

from __future__ import annotations

import datetime
from pathlib import Path

from hushcount.mechanisms.users import EXACT, GROUP, PAMG, Route, user_routes

PAGE = Path(__file__).parents[2] / "docs" / "user-routes.md"
KEYS = (1, 2, 3, 5, 8, 10, 20, 30, 50, 80, 100, 150, 200, 300, 500, 1000)
COUNTERS = (100, 1_000, 10_000, 100_000)
BUDGETS = ((1.0, 1e-6), (1.0, 1e-9), (0.1, 1e-6))


def page() -> str:
    """The whole page."""
    parts = [HEAD.format(date=datetime.date.today().isoformat())]
    for epsilon, delta in BUDGETS:
        parts.append(f"## ε = {epsilon:g}, δ = {delta:g}\n")
        parts.append(f"{table(epsilon, delta)}\n{turning(epsilon, delta)}")
    return "\n".join(parts)


def table(epsilon: float, delta: float) -> str:
    """One row for each number of keys a user may have; the route that is picked without --exact is bold."""
    names = " | ".join(f"users, k = {counters:,}" for counters in COUNTERS)
    lines = [f"| m | exact | group | {names} |", "|---" * (3 + len(COUNTERS)) + "|"]
    for keys in KEYS:
        found = [by_name(user_routes(epsilon, delta, keys, counters, exact=True)) for counters in COUNTERS]
        group = found[0][GROUP].reliable
        users = [routes[PAMG].reliable for routes in found]
        cells = [bold(one, one < group) for one in users]
        every = bold(group, all(group <= one for one in users))
        lines.append(f"| {keys} | {found[0][EXACT].reliable:,} | {every} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def turning(epsilon: float, delta: float) -> str:
    """The first m at which UserMisraGries beats the group route."""
    found = []
    for counters in COUNTERS:
        low, high = 1, 4 * counters
        while high - low > 1:
            middle = (low + high) // 2
            first = user_routes(epsilon, delta, middle, counters)[0].name
            low, high = (low, middle) if first == PAMG else (middle, high)
        found.append(f"m = {high} for k = {counters:,}")
    return f"UserMisraGries beats the group route from {', '.join(found)}.\n"


def by_name(routes: list[Route]) -> dict[str, Route]:
    """The routes under their names."""
    return {route.name: route for route in routes}


def bold(value: int, chosen: bool) -> str:
    """A number, marked if its route is the one to take."""
    return f"**{value:,}**" if chosen else f"{value:,}"


HEAD = """# Which route for users with several keys

The smallest number of users of a key (above what the sketch left out) at which the key is published with
probability .95, if a user may have up to m keys and the sketches have k counters. All of it follows from
public parameters. Proofs: [user_misra_gries.md](proofs/sketches/user_misra_gries.md),
[gaussian.md](proofs/histograms/gaussian.md), [correlated.md](proofs/histograms/correlated.md).

- *exact*: exact counts of all keys, made on disk: the default. The lower of the truncated geometric at
  (ε/m, δ/m) and the Gaussian sparse histogram with l = m ([proof](proofs/histograms/users.md)); depends on m.
- *group*: one SpaceSaving sketch of all (user, key) pairs, floor release at ε/m; depends on m only.
- *users*: UserMisraGries with k counters, correlated sparse histogram; depends on k only.

Bold: the lower of *group* and *users* (in the column *group*: for every k shown), for those who ask for a
sketch by its counters or by name.

Made by `python experiments/users/routes.py` on {date}.
"""

if __name__ == "__main__":
    PAGE.write_text(page())
