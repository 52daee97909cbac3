"""What a release states, compared with what its recipe gives: the names of everything that differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from hushcount.ldp.server.decoding import guarantee_of, recipe_of
from hushcount.ldp.server.local_error import LocalError
from hushcount.ldp.wire.manifest import Manifest
from hushcount.privacy import Guarantee
from hushcount.releases.oracle import Oracle
from hushcount.releases.release import Release
from hushcount.releases.stored.documents import Stored
from hushcount.releases.stored.exact import Plain, number_plain, text_from, whole_from
from hushcount.releases.stored.guarantees import guarantee_plain
from hushcount.releases.stored.models import model_plain, values_plain
from hushcount.releases.tree import TreeRelease
from hushcount.releases.views.report_facts import ENTRY

Model = Mapping[str, Plain]
DRAWN = ("floor", "floors", "measured", "domain")  # noisy, or a list of keys that the file names only
RELATIVE = 1e-6  # difference of numbers with a fraction, which machines may round differently


def compared(release: Release | TreeRelease, again: Stored) -> list[str]:
    """Return the names of what a release states and its recipe does not give."""
    if type(again) is not type(release) or isinstance(again, Oracle):
        return ["kind"]
    wrong = differences(release.guarantee, again.guarantee)
    mine, other = model_plain(release.error) or {}, model_plain(again.error) or {}
    known = {**mine, **{name: other.get(name) for name in DRAWN if name in mine}}
    if known != other:
        wrong += [f"error {name}" for name in sorted({*known, *other}) if known.get(name) != other.get(name)]
    if isinstance(release, TreeRelease) and isinstance(again, TreeRelease):
        names = ("threshold", "hierarchy", "height")
        wrong += [name for name in names if getattr(release, name) != getattr(again, name)]
    totals = [each.total if isinstance(each, Release) else None for each in (release, again)]
    noises = [None if total is None else total.noise for total in totals]
    wrong += ["total"] if noises[0] != noises[1] else []
    return wrong + _drawn(release, mine, other) + _options(release)


def _options(release: Release | TreeRelease) -> list[str]:
    """Return the options that say something else than the recipe, the confidence or the rows."""
    if release.made is None:
        return []
    options = release.made.options
    known = {**(release.made.recipe or {}), "confidence": number_plain(release.confidence)}
    wrong = [f"option {name}" for name, value in options.items() if value != known.get(name, value)]
    cut = "limit" in options or "min_count" in options
    return wrong + (["whole"] if isinstance(release, Release) and cut and release.whole else [])


def _drawn(
    release: Release | TreeRelease, mine: Mapping[str, Plain], other: Mapping[str, Plain]
) -> list[str]:
    """Return what is wrong with the noisy floors and the domain, whose values a recipe does not give."""
    floors, others = mine.get("floors"), other.get("floors")
    wrong = []
    if isinstance(floors, list) and isinstance(others, list) and len(floors) != len(others):
        wrong.append("floors")
    bounds = cast("list[int]", mine.get("measured") or [])
    if bounds[:2] != sorted(bounds[:2]) or bounds[2:] != sorted(bounds[2:]):
        wrong.append("measured")  # rarer errors have larger bounds
    if isinstance(release, Release):
        stated = _floor(mine)
        wrong += ["floor"] if release.floor != stated else []
    domain = mine.get("domain")
    asked = None if release.made is None or release.made.recipe is None else release.made.recipe.get("domain")
    return wrong + (["domain"] if domain != asked else [])


def _floor(model: Model) -> int | None:
    """Return what noisy floors mean for one key, by an error model that was read."""
    floors = model.get("floors")
    if isinstance(floors, list):
        numbers = [int(cast("int", floor)) for floor in floors]
        return max(numbers) if model.get("apart") or model.get("name") == "key-shards" else sum(numbers)
    return int(cast("int", model["floor"])) if model.get("name") == "floor" else None


def differences(stated: Guarantee, again: Guarantee) -> list[str]:
    """Return the names of what differs in two guarantees; more assumptions may be stated than are needed."""
    one, other = guarantee_plain(stated), guarantee_plain(again)
    assumed = stated.assumptions[: len(again.assumptions)] == again.assumptions
    plain = [name for name in other if name not in ("assumptions", "parameters") and one[name] != other[name]]
    mine, others = stated.parameters, again.parameters
    numbers = [name for name in sorted({*mine, *others}) if mine.get(name) != others.get(name)]
    return plain + numbers + ([] if assumed else ["assumptions"])


def oracle_recipe(oracle: Oracle, promise: Guarantee) -> dict[str, Plain]:
    """Return the recipe of one of the oracles that were merged into an oracle."""
    rho = promise.parameters.get("rho")
    return {
        "mechanism": "noisy-cells",
        **({} if rho is None else {"rho": number_plain(float(rho))}),
        "epsilon": number_plain(promise.epsilon),
        "delta": number_plain(promise.delta),
        "unit": promise.unit.name,
        "rows": promise.parameters.get("max_keys", 1),
        "summary": "user-cells" if "max_keys" in promise.parameters else "cells",
        "sketch": oracle.hashing.kind,
        "depth": oracle.hashing.depth,
        "width": oracle.hashing.width,
        "max_weight": promise.parameters["max_weight"],
        "partial": oracle.partial,
    }


def oracle_differences(oracle: Oracle) -> list[str]:
    """Return what is wrong with the recipe and the options of an oracle; of a merged one there are none."""
    if oracle.made is None or oracle.made.recipe is None:
        return []
    recipe, expected = oracle.made.recipe, oracle_recipe(oracle, oracle.guarantees[0])
    if not oracle.guarantee.delta:  # Count-Min spends none, whatever was offered
        expected["delta"] = recipe["delta"]
    known = {**recipe, "kind": recipe.get("sketch")}
    wrong = [] if recipe == expected else ["recipe"]
    return wrong + [
        f"option {name}"
        for name, value in oracle.made.options.items()
        if name not in ENTRY and value != known.get(name)  # an entry is looked up in the ledger
    ]


def local_differences(release: Release, recipe: Mapping[str, Plain]) -> list[str]:
    """Return what a local release states and the manifest of its campaign does not give."""
    manifest = Manifest.parse(text_from(recipe["manifest"]))
    reports = whole_from(recipe["reports"], 1)
    again = {name: values_plain(each) for name, each in recipe_of(manifest, reports).items()}
    wrong = differences(release.guarantee, guarantee_of(manifest, reports))
    wrong += [] if again == recipe else ["recipe"]
    error = release.error
    if not isinstance(error, LocalError):
        return [*wrong, "error"]
    responses = [group.response for group in manifest.groups]
    wrong += [] if error.error.response in responses else ["error response"]
    wrong += [] if error.error.users == reports else ["error users"]
    if error.asked is not None:  # the final estimate is from all reports
        wrong += [] if error.asked[-1:] == (float(reports),) else ["error asked"]
    if release.whole and len(release):
        largest = float(release.counts[0].as_py())
        wrong += [] if (error.largest, error.rows) == (largest, len(release)) else ["error largest"]
    return wrong + _options(release)


def tree_reaches(release: TreeRelease) -> bool:
    """Return whether residuals reach the threshold, and totals follow from them or clear the noisy floors."""
    rows = release.rows
    reached = bool((rows.residuals >= release.threshold).all())
    model = model_plain(release.error) or {}
    if model.get("by_level"):
        return reached and bool((rows.residuals == rows.totals).all())
    floors = cast("list[int] | None", model.get("floors"))
    if floors is None:
        totals = rows.residuals.copy()
        for row in range(len(rows) - 1, -1, -1):
            if rows.parents[row] >= 0:
                totals[rows.parents[row]] += totals[row]
        return reached and bool((totals == rows.totals).all())
    least = np.array(floors)[rows.levels] + int(release.guarantee.parameters["above_floor"])
    return reached and bool(((rows.totals >= least) | (rows.levels == 0)).all())


def close(one: Plain, other: Plain) -> bool:
    """Return whether plain values are equal, up to the rounding of numbers with a fraction."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(close(one[name], other[name]) for name in one)
    if isinstance(one, float) and isinstance(other, int | float):
        return abs(one - other) <= RELATIVE * abs(other)
    return type(one) is type(other) and one == other
