"""The protocols of Bassily et al. 2020 as published, at their setting: python -m experiments.ldp.paper

Ten million users, epsilon 2, words of six letters, heavy from 15 sqrt(n) on. Prints one line of JSON a
protocol and data set; docs/ldp-paper.md states what it printed.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from experiments.ldp.products import WORDS, Protocol, reports_of
from experiments.ldp.quality import Campaign, quality
from experiments.ldp.run import mean

from hushcount import ldp
from hushcount.ldp.server.aggregator import Aggregator

USERS = 10_000_000
EPSILON = 2.0

PROTOCOLS: dict[str, Protocol] = {
    "TreeHistPaper": lambda **asked: ldp.TreeHistPaper(WORDS, **asked),
    "TreeHistPaper, whole list": lambda **asked: ldp.TreeHistPaper(WORDS, published=1, **asked),
    "SuccinctHist": lambda **asked: ldp.SuccinctHist(WORDS, **asked),
    "BitstogramPaper": lambda **asked: ldp.BitstogramPaper(WORDS, **asked),
}


def main(arguments: list[str] | None = None) -> None:
    """Run every protocol on both data sets."""
    parser = argparse.ArgumentParser(description="The protocols of Bassily et al. 2020 at their own setting.")
    parser.add_argument("--users", type=int, default=USERS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", choices=list(PROTOCOLS), nargs="*", default=list(PROTOCOLS))
    chosen = parser.parse_args(arguments)
    for name in chosen.only:
        for data in ("words", "zipf"):
            row = {"protocol": name, "data": data, "users": chosen.users, "seeds": chosen.seeds}
            print(json.dumps(row | reached(name, data, chosen.users, range(chosen.seeds))), flush=True)


def reached(name: str, data: str, users: int, seeds: Iterable[int]) -> dict[str, Any]:
    """The means of precision, recall and errors, and of the CPU seconds of the server."""
    return mean([_one(PROTOCOLS[name], Campaign(data, users, EPSILON, seed)) for seed in seeds])


def _one(protocol: Protocol, campaign: Campaign) -> dict[str, Any]:
    rng = campaign.rng
    asked = protocol(epsilon=campaign.epsilon, users=campaign.users, threshold=campaign.tau).manifest
    manifest = replace(asked, seed=rng.bytes(len(asked.seed)))
    reports = reports_of(manifest, campaign, rng)
    start = time.process_time()
    release = Aggregator(manifest).add(reports).heavy_hitters()
    seconds = time.process_time() - start
    words, counts = release.keys["key"].to_pylist(), release.counts.to_pylist()
    figures = quality(campaign, dict(zip(words, counts, strict=True)))
    return figures | {"server_seconds": round(seconds, 1)}


if __name__ == "__main__":
    main()
