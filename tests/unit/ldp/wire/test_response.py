"""The response: text of epsilon, bits of a symbol, rounding. Its law: tests/privacy/test_ldp.py."""

import json
import math
from decimal import Decimal

import pytest
from tests.make_ldp_vectors import FOLDER, Fixed

from hushcount.errors import ParameterError
from hushcount.ldp.wire.response import ONE, best_symbol_bits, epsilon_text, respond, response_probability
from hushcount.ldp.wire.versions import ISSUED

VECTORS = json.loads((FOLDER / "ldp_responses.json").read_text())


@pytest.mark.parametrize(
    "row", VECTORS["probabilities"], ids=lambda row: f"{row['epsilon']}, {row['symbol_bits']}"
)
def test_probabilities(row):
    probability = response_probability(row["epsilon"], row["symbol_bits"])
    assert str(probability) == row["probability"]
    growth = math.exp(float(row["epsilon"]))
    assert probability / ONE == pytest.approx(growth / (growth + 2 ** row["symbol_bits"] - 1), rel=1e-14)


def test_responses():
    for row in VECTORS["responses"]:
        bits = Fixed(bytes.fromhex(row["random"]))
        assert (
            respond(row["truth"], row["symbol_bits"], int(row["probability"]), bits, ISSUED) == row["symbol"]
        )


@pytest.mark.parametrize(
    ("epsilon", "text"),
    [
        (2, "2"),
        (2.0, "2"),
        (10.0, "10"),
        (20, "20"),
        (0.1, "0.1"),
        (1e-7, "0.0000001"),
        (1 / 3, "0.3333333333333333"),
        (Decimal("0.50"), "0.5"),
        ("1.25", "1.25"),
    ],
)
def test_text_of_epsilon(epsilon, text):
    assert epsilon_text(epsilon) == text
    assert epsilon_text(text) == text


PLAIN = "epsilon must be a plain decimal above 0 and at most 20 with at most 18 places, got {}."


@pytest.mark.parametrize(
    ("epsilon", "text"),
    [
        *[
            (bad, PLAIN.format(bad))
            for bad in ("", "0", "-1", "02", "2.0", "2.", ".5", "1e0", "+1", " 1", "20.1", "nan")
        ],
        ("1\n", PLAIN.format(r"'1\n'")),
        ("٢", PLAIN.format("٢")),
        ("0." + "0" * 18 + "1", PLAIN.format("0." + "0" * 18 + "1")),
        (1e-19, PLAIN.format("0." + "0" * 18 + "1")),
        (0, "epsilon must be a finite number above 0, got 0."),
        (-1.0, "epsilon must be a finite number above 0, got -1.0."),
        (math.inf, "epsilon must be a finite number above 0, got inf."),
        (math.nan, "epsilon must be a finite number above 0, got nan."),
        (True, "epsilon must be a number, got True."),
        (None, "epsilon must be a number, got None."),
        (20.5, "epsilon above 20 protects nobody, got 20.5."),
    ],
)
def test_bad_epsilon(epsilon, text):
    with pytest.raises(ParameterError) as error:
        epsilon_text(epsilon)
    assert str(error.value) == text


def test_a_symbol_has_the_bits_of_least_variance():
    def variance(epsilon, bits):
        symbols = 2**bits
        chance = math.exp(epsilon) / (math.exp(epsilon) + symbols - 1)
        return (1 / symbols) * (1 - 1 / symbols) / (chance - 1 / symbols) ** 2

    for epsilon in (0.3, 1.0, 2.0, 2.7, 3.3):
        best = min((1, 2, 3, 4, 5), key=lambda bits: variance(epsilon, bits))
        assert best_symbol_bits(epsilon) == best
    assert variance(2.0, 3) == pytest.approx(0.7246, abs=1e-4)


def test_an_epsilon_too_small_for_the_grid_is_still_answered():
    assert response_probability("0.000000000000000001", 1) > ONE // 2
