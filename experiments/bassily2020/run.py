"""The experiments of Bassily et al. 2020, Section 4: python -m experiments.bassily2020.run

Writes results.json, README.md and figures/ beside this file, or where --folder says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from time import process_time
from typing import Any

import numpy as np
from experiments.bassily2020 import oracles
from experiments.bassily2020.oracles import OURS, RAPPOR, THEIRS, Population
from experiments.bassily2020.page import STUDY
from experiments.common.study import Row, asked, made, short, summary
from experiments.ldp.paper import PROTOCOLS
from experiments.ldp.products import PRODUCTS, simulate
from experiments.ldp.quality import Campaign, quality

EPSILON, DEMO_EPSILON = 2.0, math.log(3)
EPSILONS = (0.1, 1.0, 2.0, 5.0, 10.0)
WIDTHS = (0.1, 1.0, 5.0, 10.0)  # cells of a row, over the root of the number of users
PERCENTILES = {"50th percentile": 50, "90th percentile": 10, "95th percentile": 5}  # ranks among 100 words
RANKS = {"rank 1": 1, "rank 10": 10, "rank 100": 100}
SEARCHES = {name: PROTOCOLS[name] for name in ("TreeHistPaper", "BitstogramPaper")} | {
    f"{name} (ours)": PRODUCTS[name] for name in ("TreeHist", "Bitstogram")
}


@dataclass(frozen=True)
class Size:
    """How many users, and how often each campaign is simulated."""

    users: int
    fewer: tuple[int, ...]
    repetitions: int
    demo_users: int = 1_000_000


SIZES = {
    "tiny": Size(20_000, (10_000,), 1, 20_000),
    "small": Size(300_000, (30_000, 100_000), 5),
    "full": Size(10_000_000, (100_000, 1_000_000, 5_000_000), 10),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Estimate frequencies, compare with RAPPOR, and search for heavy hitters."""
    chosen = asked(STUDY, SIZES, arguments)
    if chosen.only_page:
        return STUDY.draw(chosen.folder)
    size = SIZES[chosen.size]
    repetitions = chosen.repetitions or size.repetitions
    rows = [
        *frequencies(size, repetitions),
        *demo(size, repetitions),
        *data(size),
        *searches(size, repetitions),
    ]
    settings: dict[str, Any] = asdict(size) | {"repetitions": repetitions, "epsilon": EPSILON}
    return STUDY.write({"made": made(STUDY, chosen), "settings": settings, "rows": rows}, chosen.folder)


def frequencies(size: Size, repetitions: int) -> Iterator[Row]:
    """Figures 1 to 3: frequencies at chosen ranks over users, epsilon and the width of the sketch."""
    for users in (*size.fewer, size.users):
        yield from _oracles("users", users, (oracles.power_law(users), EPSILON, None), repetitions)
    people, words = oracles.power_law(size.users), oracles.english(size.users)
    for epsilon in EPSILONS:
        yield from _oracles("epsilon", epsilon, (people, epsilon, None), repetitions)
        yield from _oracles("words", epsilon, (words, epsilon, None), repetitions)
    for width in WIDTHS:
        cells = round(width * math.sqrt(size.users))
        yield from _oracles("width", width, (people, EPSILON, cells), repetitions)


def _oracles(
    sweep: str, value: float, asked_for: tuple[Population, float, int | None], repetitions: int
) -> Iterator[Row]:
    people, epsilon, cells = asked_for
    print(f"{sweep} {value:g}", flush=True)
    truth = people.held[:100]
    for method in (THEIRS,) if sweep == "width" else (THEIRS, OURS):
        samples = []
        for seed in range(repetitions):
            found, _ = oracles.estimated(method, people, epsilon, seed, cells)
            shares = {name: found[rank - 1] / people.users for name, rank in (PERCENTILES | RANKS).items()}
            error = float(np.sqrt(((found - truth) ** 2).mean()))
            samples.append(shares | {"error": error, "error_share": error / people.users})
        true = {
            f"{name}, true": short(truth[rank - 1] / people.users)
            for name, rank in (PERCENTILES | RANKS).items()
        }
        yield {"sweep": sweep, "value": value, "method": method, **true, **summary(samples)}


def demo(size: Size, repetitions: int) -> Iterator[Row]:
    """Figure 4: the frequencies of 100 words, beside RAPPOR."""
    people = oracles.exponential(size.demo_users)
    print("RAPPOR", flush=True)
    yield {"sweep": "demo", "method": "true", "shares": _shares(people.held, people)}
    for method in (THEIRS, RAPPOR, OURS):
        found = [oracles.estimated(method, people, DEMO_EPSILON, seed)[0] for seed in range(repetitions)]
        low = people.held < np.median(people.held)
        errors = [np.abs(each - people.held)[low].mean() / people.users for each in found]
        yield {
            "sweep": "demo",
            "method": method,
            "shares": _shares(found[0], people),
            "zeros": short(float(np.mean([(each[low] == 0).mean() for each in found]))),
            "low_error": short(float(np.mean(errors))),
            "high_error": short(
                float(np.mean([np.abs(each - people.held)[~low].mean() for each in found]) / people.users)
            ),
        }


def data(size: Size) -> Iterator[Row]:
    """Figures 5 and 6: the true distributions."""
    for name, people in (
        ("synthetic", oracles.power_law(size.users)),
        ("words", oracles.english(size.users)),
    ):
        yield {"sweep": "data", "method": name, "shares": _shares(people.held[:100], people)}


def _shares(counts: Any, people: Population) -> list[float]:
    return [short(float(count) / people.users) for count in counts]


def searches(size: Size, repetitions: int) -> Iterator[Row]:
    """Tables 1 and 2: precision and recall of the searches, and what they cost over the number of users."""
    for users in (*size.fewer, size.users):
        for kind in ("zipf", "words"):
            for method, protocol in SEARCHES.items():
                print(f"{method}, {kind}, {users:,} users", flush=True)
                samples = [
                    _searched(protocol, Campaign(kind, users, EPSILON, seed)) for seed in range(repetitions)
                ]
                yield {"sweep": "search", "data": kind, "value": users, "method": method, **summary(samples)}


def _searched(protocol: Any, campaign: Campaign) -> dict[str, float]:
    found, seconds = simulate(protocol, campaign)
    figures = quality(campaign, found)
    start = process_time()
    client = protocol(epsilon=EPSILON, users=campaign.users, threshold=campaign.tau).client()
    report = client.report("hushed")
    error = figures["absolute_error"]
    return {
        "heavy": figures["heavy"],
        "precision": figures["precision"],
        "recall": figures["recall"],
        "error": math.nan if error is None else error,
        "server_seconds": seconds,
        "client_seconds": process_time() - start,
        "report_bytes": len(report),
    }


if __name__ == "__main__":
    main()
