"""The constants of Bassily et al. 2020, and what its lemmas require with them.

log d, the number of levels or bits, is to base 2; logarithms of probabilities are natural. The lemmas assume
epsilon <= 1; their formulas are evaluated for any epsilon. docs/ldp-paper.md shows what they give for ten
million users.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hushcount.errors import ParameterError
from hushcount.privacy import check_count, check_epsilon

BETA = 0.05  # probability of failure; the paper leaves it open


@dataclass(frozen=True, slots=True)
class TreeConstants:
    """Those of TreeHist (Bassily et al. 2020, Section 5).

    t = 110 log(n / beta), m = 48 sqrt(n / log(n / beta)), eta = 147 sqrt(n log(n / beta) log d) / epsilon.
    """

    rows: float = 110
    cells: float = 48
    eta: float = 147


@dataclass(frozen=True, slots=True)
class HashtogramConstants:
    """Those of Hashtogram (Bassily et al. 2020, Lemma 6.6).

    R = 300 log(12 n d' / beta), error 400 sqrt(n log(n d' / beta)) / epsilon.
    """

    rows: float = 300
    inside: float = 12
    error: float = 400


@dataclass(frozen=True, slots=True)
class SuccinctConstants:
    """Those of SuccinctHist (Bassily et al. 2020, Lemma 6.3).

    w = 32 log d log(16 log d) + 48 sqrt(2n log d ln(64 log d)) / epsilon, T = 32n / w.
    """

    sampling: float = 32
    noise: float = 48
    buckets: float = 32


@dataclass(frozen=True, slots=True)
class BitstogramConstants:
    """Those of Bitstogram (Bassily et al. 2020, Lemma 6.8).

    R = 48 ln(1 / beta), T = epsilon n / (326 sqrt(R log d')), counts of at least 264 n^1.5 / T are found.
    """

    repetitions: float = 48
    buckets: float = 326
    found: float = 264


@dataclass(frozen=True, slots=True)
class PaperProof:
    """What a lemma requires and promises: rows, cells of a row, and counts.

    `pruned` is the threshold of the protocol, `found` the smallest count that is found, and `error` how far a
    published count is from the true one, all with the probability that the lemma states.
    """

    rows: int
    cells: int
    pruned: float
    found: float
    error: float

    @property
    def cell_bits(self) -> int:
        """Bits of a cell, for the next power of two of cells."""
        return max((self.cells - 1).bit_length(), 1)


TREE, HASHTOGRAM = TreeConstants(), HashtogramConstants()
SUCCINCT, BITSTOGRAM = SuccinctConstants(), BitstogramConstants()


def explicit_error(users: int, epsilon: float, queries: int, beta: float = BETA) -> float:
    """Return ExplicitHist's error over so many queries, 3 sqrt(n ln(4 d' / beta)) / epsilon (Lemma 6.1).

    >>> round(explicit_error(10_000_000, 2.0, 1 << 20))
    20261
    """
    _check(users, epsilon, beta)
    return 3 / epsilon * math.sqrt(users * math.log(4 * queries / beta))


def tree_proof(
    users: int, epsilon: float, levels: int, beta: float = BETA, constants: TreeConstants = TREE
) -> PaperProof:
    """Return TreeHist's: prefixes below 2 eta are pruned, items above 3 eta found (Lemma 5.3, Theorem 5.2).

    >>> proved = tree_proof(10_000_000, 2.0, 30)
    >>> proved.rows, proved.cells, round(proved.pruned), round(proved.found)
    (2103, 34720, 11131451, 16697177)
    """
    _check(users, epsilon, beta)
    logarithm = math.log(users / beta)
    final = constants.eta * math.sqrt(users * logarithm) / epsilon
    eta = final * math.sqrt(levels)
    cells = math.ceil(constants.cells * math.sqrt(users / logarithm))
    return PaperProof(math.ceil(constants.rows * logarithm), cells, 2 * eta, 3 * eta, final)


def hashtogram_proof(
    users: int,
    epsilon: float,
    queries: int,
    beta: float = BETA,
    constants: HashtogramConstants = HASHTOGRAM,
) -> PaperProof:
    """Return Hashtogram's (Lemma 6.6); an oracle prunes nothing and finds what exceeds its error."""
    _check(users, epsilon, beta)
    rows = math.ceil(constants.rows * math.log(constants.inside * users * queries / beta))
    logarithm = math.log(users * queries / beta)
    error = constants.error / epsilon * math.sqrt(users * logarithm)
    return PaperProof(rows, math.ceil(epsilon * math.sqrt(users / logarithm)), 0.0, error, error)


def succinct_proof(
    users: int, epsilon: float, levels: int, beta: float = BETA, constants: SuccinctConstants = SUCCINCT
) -> PaperProof:
    """Return SuccinctHist's (Lemma 6.3): one row of T buckets; half of the items above w are found."""
    _check(users, epsilon, beta)
    noise = math.sqrt(2 * users * levels * math.log(64 * levels))
    found = constants.sampling * levels * math.log(16 * levels) + constants.noise / epsilon * noise
    cells = math.ceil(constants.buckets * users / found)
    return PaperProof(1, cells, 0.0, found, explicit_error(users, epsilon / 2, cells, beta))


def bitstogram_proof(
    users: int, epsilon: float, places: int, beta: float = BETA, constants: BitstogramConstants = BITSTOGRAM
) -> PaperProof:
    """Return Bitstogram's (Lemma 6.8), for a code of so many places; its error is that of Hashtogram."""
    _check(users, epsilon, beta)
    rows = math.ceil(constants.repetitions * math.log(1 / beta))
    cells = max(math.floor(epsilon * users / (constants.buckets * math.sqrt(rows * places))), 1)
    found = constants.found * users**1.5 / cells
    return PaperProof(rows, cells, 0.0, found, hashtogram_proof(users, epsilon / 2, rows * cells, beta).error)


def _check(users: int, epsilon: float, beta: float) -> None:
    """Raise unless the parameters of a lemma are valid."""
    check_count("users", users)
    check_epsilon(epsilon)
    if not 0 < beta < 1:
        raise ParameterError(f"beta must be strictly between 0 and 1, got {beta!r}.")
