"""What is claimed of a mechanism, what the claim assumes, and the page that proves it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hushcount.errors import DataError
from hushcount.mechanisms.continual.gate import claim_for
from hushcount.mechanisms.registry import EVERY_MECHANISM
from hushcount.registry import Registry

WATCHED = {
    "gate": claim_for("one event"),
    "gate-users": claim_for("one user, or one user in one cell of time"),
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """A mechanism in words: its claim, its assumptions, and its proof.

    Parameters
    ----------
    name : str
        The name of the mechanism.
    claim : str
        The theorem in one sentence.
    assumptions : tuple of str
        What must be true of the data and of the run.
    page : str
        The page of the proof, as a path in the repository.
    """

    name: str
    claim: str
    assumptions: tuple[str, ...]
    page: str

    def proof(self) -> str:
        """Return the text of the proof, from the installed package or from a checkout."""
        package = Path(__file__).parents[2]
        for home in (package, package.parents[1]):
            if (home / self.page).is_file():
                return (home / self.page).read_text(encoding="utf-8")
        raise DataError(f"{self.page} is missing from this installation.")


def explain(name: str) -> Explanation:
    """Explain one mechanism.

    Parameters
    ----------
    name : str
        One of `names()`.

    Raises
    ------
    ParameterError
        If there is no such mechanism.

    Examples
    --------
    >>> explain("floor").page
    'docs/proofs/counters/floor.md'
    """
    Registry[object]("mechanism", dict.fromkeys(names(), "")).check(name)
    claim = WATCHED[name] if name in WATCHED else EVERY_MECHANISM[name].claim
    return Explanation(name, claim.theorem, claim.assumptions, claim.proof)


def names() -> tuple[str, ...]:
    """Return the names of all mechanisms that can be explained."""
    return (*EVERY_MECHANISM, *WATCHED)
