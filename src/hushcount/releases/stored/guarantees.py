"""Guarantees in JSON, and read back from files, which anybody may have written."""

from __future__ import annotations

from collections.abc import Callable

from hushcount.privacy import Guarantee, PrivacyUnit, check_delta, check_epsilon
from hushcount.releases.stored.exact import (
    Plain,
    fields_from,
    float_from,
    number_plain,
    text_from,
    texts_from,
    whole_from,
    whole_plain,
)

_NAMES = ("unit", "protects", "neighbours", "mechanism", "theorem", "proof")


def guarantee_plain(guarantee: Guarantee) -> dict[str, Plain]:
    """Return a guarantee with its budget in exact texts."""
    parameters = {name: _parameter_plain(value) for name, value in guarantee.parameters.items()}
    return {
        "epsilon": number_plain(guarantee.epsilon),
        "delta": number_plain(guarantee.delta),
        "unit": guarantee.unit.name,
        "protects": guarantee.unit.protects,
        "neighbours": guarantee.unit.neighbours,
        "mechanism": guarantee.mechanism,
        "theorem": guarantee.theorem,
        "proof": guarantee.proof,
        "parameters": dict(parameters),
        "assumptions": list(guarantee.assumptions),
    }


def guarantee_from(value: Plain, exact: bool = True) -> Guarantee:
    """Return the guarantee that was written; raise if it promises what none can.

    Before version 2 (`exact` is False) budgets and parameters were floating point numbers.
    """
    fields = fields_from(value, ("epsilon", "delta", "parameters", "assumptions", *_NAMES))
    name, protects, neighbours, mechanism, theorem, proof = (text_from(fields[each]) for each in _NAMES)
    unit = PrivacyUnit(name, protects)
    if unit.neighbours != neighbours:
        unit = PrivacyUnit(name, protects, neighbours)
    number = float_from if exact else json_number
    epsilon, delta, parameters = number(fields["epsilon"]), number(fields["delta"]), fields["parameters"]
    if not isinstance(parameters, dict):
        raise ValueError("parameters")
    return Guarantee(
        check_epsilon(epsilon),
        0.0 if delta == 0 else check_delta(delta),
        unit,
        mechanism,
        theorem,
        proof,
        {each: _parameter_from(parameter, exact) for each, parameter in parameters.items()},
        texts_from(fields["assumptions"]),
    )


def json_number(value: Plain) -> float:
    """Return a JSON number, or raise."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("number")
    return float(value)


def _parameter_plain(value: int | float | str) -> Plain:
    """Return a parameter: a text, a whole number, or an object with the exact text of another number."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return {"number": number_plain(value)}
    exact = whole_plain(value)
    return {"whole": exact} if isinstance(exact, str) else exact


def _parameter_from(value: Plain, exact: bool) -> int | float | str:
    """Return a parameter, or raise."""
    if isinstance(value, str):
        return value
    if not exact and isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if isinstance(value, dict):
        (kind,) = value
        readers: dict[str, Callable[[Plain], float]] = {"number": float_from, "whole": whole_from}
        return readers[kind](value[kind])
    return whole_from(value)
