"""Where a release comes from, and the facts that a public registry of deployments asks for."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from datetime import datetime

from hushcount.privacy import Guarantee
from hushcount.releases.accuracy import RELIABLE
from hushcount.releases.made import software
from hushcount.releases.oracle import Oracle
from hushcount.releases.release import Release
from hushcount.releases.stored.documents import VERSION
from hushcount.releases.views.report_words import LOCAL_RELEASE, ONE_RELEASE, Reported, factor, is_local
from hushcount.releases.views.words import accuracy_sentences, oracle_sentence

Fact = tuple[str, str]
ENTRY = ("dataset", "run_id", "window")  # options that name an entry of a ledger
PUBLISHER = "Not known to hushcount; the publisher states it."
CENTRAL = "Central: one operator sees the raw data and adds the noise before anything is published."
LOCAL = "Local: every user randomises their own report, and the collector sees no raw data."
POST_PROCESSING = (
    "Sorting, cutting rows, intervals, pictures and this page are computed from noisy values and public"
    " parameters only, so they cost no further privacy."
)
PUBLIC = (
    "the names and types of the key columns, the public parameters listed above, the options of the run, and"
    " every noisy value on this page"
)
# Names of parameters that nobody could guess.
NAMES = {"moved": "counts that one unit changes", "symbol_bits": "bits of a report"}


def origin(release: Reported, written: datetime) -> Iterator[Fact]:
    """Yield how, by what and when the release was made."""
    guarantee, made = release.guarantee, release.made
    if made is not None:
        drawn = "Merged" if "merged" in made.options else "Noise drawn"
        yield drawn, f"{made.time}, by hushcount {made.version}"
        if made.options:
            yield "Options", ", ".join(f"{name} = {value}" for name, value in made.options.items())
        if made.source_name is not None:
            yield "Data", made.source_name
    yield "Report written", f"{written:%Y-%m-%d %H:%M} UTC"
    yield "Software", f"hushcount {software()}, Python {platform.python_version()}"
    yield "Release format", f"hushcount release JSON, version {VERSION}"
    yield "Mechanism", guarantee.mechanism
    yield "Theorem", guarantee.theorem
    yield "Proof", f"{guarantee.proof}, in the documentation of hushcount"
    yield "Public parameters", _parameters(release)
    yield "Budget ledger", _ledger(release)


def registry(release: Reported) -> Iterator[Fact]:
    """Yield the facts in the order in which a registry of deployments asks for them."""
    guarantee = release.guarantee
    unit = guarantee.unit
    yield "Publisher, purpose and data set", PUBLISHER
    yield "Model", LOCAL if is_local(release) else CENTRAL
    yield "Unit of privacy", f"One {unit.name}: {unit.protects}."
    yield "Neighbouring data sets", f"{unit.neighbours[0].upper()}{unit.neighbours[1:]}."
    yield (
        "Definition",
        "Pure differential privacy." if guarantee.delta == 0 else "Approximate differential privacy.",
    )
    yield (
        "Budget",
        (
            f"epsilon = {guarantee.epsilon:g} (a factor of at most {factor(guarantee)}), delta ="
            f" {guarantee.delta:g}{_rho(guarantee)}, for this release."
        ),
    )
    yield "Mechanism", f"{guarantee.mechanism}; proof: {guarantee.proof}."
    yield "What is public", f"Taken as known to all: {PUBLIC}. {_domain(release)}"
    yield "Composition over time", LOCAL_RELEASE if is_local(release) else ONE_RELEASE
    yield "Account of the budget", _ledger(release)
    yield "Post-processing", POST_PROCESSING
    yield "Accuracy", " ".join(accuracy_of(release))
    yield "Implementation", f"hushcount {software()}, open source, Apache License 2.0."


def _rho(guarantee: Guarantee) -> str:
    """Return the rho by which a budget was stated, if it was."""
    rho = guarantee.parameters.get("rho")
    return "" if rho is None else f" (stated as rho = {rho:g} in zCDP)"


def accuracy_of(release: Reported) -> tuple[str, ...]:
    """Return the sentences on how far a number may be off."""
    if isinstance(release, Oracle):
        return (oracle_sentence(release, RELIABLE),)
    return accuracy_sentences(release)


def _parameters(release: Reported) -> str:
    """Return the public parameters by name."""
    stated = dict(release.guarantee.parameters)
    if not isinstance(release, Oracle):
        stated = {"confidence": release.confidence, **stated}
    if isinstance(release, Release) and release.floor is not None:
        stated["threshold" if is_local(release) else "noisy floor"] = release.floor
    named = {NAMES.get(name, name.replace("_", " ")): value for name, value in stated.items()}
    return ", ".join(
        f"{name} = {value:,}" if isinstance(value, int) else f"{name} = {value}"
        for name, value in named.items()
    )


def _domain(release: Reported) -> str:
    """Return whether the keys that can occur are public."""
    if is_local(release):
        return "The form of the items is public, in the manifest of the campaign."
    if release.guarantee.delta == 0 and not isinstance(release, Oracle):
        return "The list of all keys that can occur is public."
    return "Which keys occur is not taken as public: their names are protected too."


def _ledger(release: Reported) -> str:
    """Return the entry of the ledger that recorded the release."""
    if is_local(release):
        return "None: the clients spend their own budgets."
    if release.made is not None:
        options = release.made.options
        entry = [
            f"{name.replace('_', ' ')} {options[name]}" for name in ENTRY if options.get(name) is not None
        ]
        if entry:
            return f"Recorded in a ledger before the noise was drawn: {', '.join(entry)}."
    return "No entry is stated with this release, so nothing here shows what else was released of these data."
