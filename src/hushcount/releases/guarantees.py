"""Guarantees read back from files, which anybody may have written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hushcount.privacy import Guarantee, PrivacyUnit, check_delta, check_epsilon


def guarantee_from(values: Mapping[str, object]) -> Guarantee:
    """Return the guarantee of which this was written; raise if it promises what none can."""
    names = ("unit", "protects", "mechanism", "theorem", "proof")
    unit, protects, mechanism, theorem, proof = texts_from([values[name] for name in names])
    epsilon, delta, parameters = values["epsilon"], values["delta"], values["parameters"]
    if not isinstance(epsilon, int | float) or not isinstance(delta, int | float) or isinstance(delta, bool):
        raise ValueError("budget")
    if not isinstance(parameters, dict):
        raise ValueError("parameters")
    return Guarantee(
        check_epsilon(epsilon),
        0.0 if delta == 0 else check_delta(delta),
        PrivacyUnit(unit, protects),
        mechanism,
        theorem,
        proof,
        parameters,
        texts_from(values["assumptions"]),
    )


def texts_from(values: object) -> tuple[str, ...]:
    """Return a list of texts as a tuple; raise if it is none."""
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise ValueError("texts")
    if not all(isinstance(value, str) for value in values):
        raise ValueError("texts")
    return tuple(values)
