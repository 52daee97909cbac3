"""Every method as a function from a campaign to what it publishes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from experiments.ldp import baselines, data
from experiments.ldp.hadamard_sketch import HadamardSketch
from experiments.ldp.products import PRODUCTS, Protocol, simulate
from experiments.ldp.quality import Campaign

Published = dict[str, float]


def from_list(law: Callable[[float], Any]) -> Callable[[Campaign], Published]:
    """A protocol that is asked for every word of the list."""

    def publish(campaign: Campaign) -> Published:
        listed, held = campaign.candidates()
        found = baselines.from_list(law(campaign.epsilon), held, campaign.tau, campaign.rng)
        return {listed[position]: estimate for position, estimate in found.items()}

    return publish


def hadamard_sketch(campaign: Campaign) -> Published:
    """Apple's sketch, asked for every word of the list."""
    listed, held = campaign.candidates()
    found = HadamardSketch(campaign.epsilon).from_list(held, campaign.tau, campaign.rng)
    return {listed[position]: estimate for position, estimate in found.items()}


def prefix_extending(campaign: Campaign) -> Published:
    """Local hashing of growing prefixes."""
    items, held = data.counts(campaign.name, campaign.users)
    found = baselines.prefix_extending(
        data.codes_of(items), held, campaign.epsilon, campaign.tau, campaign.rng
    )
    return {data.word_of(code): estimate for code, estimate in found.items()}


BASELINES: dict[str, Callable[[Campaign], Published]] = {
    "RAPPOR, list": from_list(baselines.unary),
    "OUE, list": from_list(baselines.optimised_unary),
    "HCMS, list": hadamard_sketch,
    "PEM with OLH": prefix_extending,
}


def product(protocol: Protocol) -> Callable[[Campaign], Published]:
    """A protocol of hushcount."""
    return lambda campaign: simulate(protocol, campaign)[0]


METHODS = BASELINES | {name: product(protocol) for name, protocol in PRODUCTS.items()}
