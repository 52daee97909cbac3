import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from tests.seeded_bits import DictatedBits, SeededBits

from hushcount.errors import ParameterError
from hushcount.noise.bits import Bits, system_bits
from hushcount.secure import below, fresh_key


class OneByteEach:
    """Hands out the given bytes one by one, then raises."""

    def __init__(self, *octets: int) -> None:
        self.left = list(octets)

    def words(self, count: int) -> np.ndarray:
        raise AssertionError("below draws bytes")

    def bytes(self, count: int) -> bytes:
        return bytes(self.left.pop(0) for _ in range(count))


def all_first_bytes(draw, bound):
    """What each of the 256 first bytes leads to; None where the draw starts again."""
    outcomes = Counter()
    for octet in range(256):
        try:
            outcomes[draw(bound, OneByteEach(octet))] += 1
        except IndexError:
            outcomes[None] += 1
    return outcomes


def modulo_twin(bound, bits):
    return bits.bytes(1)[0] % bound


@pytest.mark.parametrize("bound", [2, 3, 5, 7, 8, 100, 129, 255, 256])
def test_every_value_has_the_same_number_of_bytes_behind_it(bound):
    outcomes = all_first_bytes(below, bound)
    restarts = outcomes.pop(None, 0)
    assert sorted(outcomes) == list(range(bound))
    assert len(set(outcomes.values())) == 1
    assert restarts < 128


@pytest.mark.parametrize("bound", [3, 5, 7, 100, 129, 255])
def test_a_modulo_twin_is_refuted(bound):
    assert len(set(all_first_bytes(modulo_twin, bound).values())) > 1


def test_below_starts_again_on_a_value_beyond_the_bound():
    assert below(5, OneByteEach(0b11100000, 0b10100000, 0b01100000)) == 3


def test_below_one_needs_no_bits():
    assert below(1, OneByteEach()) == 0


def test_below_reaches_far_beyond_64_bits():
    bits = SeededBits(1)
    bound = 10**60 + 7
    draws = [below(bound, bits) for _ in range(2000)]
    assert all(0 <= draw < bound for draw in draws)
    assert 800 < sum(draw < bound // 2 for draw in draws) < 1200
    assert len({draw % 2**64 for draw in draws}) == 2000


@pytest.mark.parametrize("bound", [0, -3])
def test_below_refuses_an_empty_range(bound):
    with pytest.raises(ParameterError) as error:
        below(bound, system_bits())
    assert str(error.value) == f"bound must be at least 1, got {bound}."


def test_system_bits_have_the_promised_form():
    bits: Bits = system_bits()
    words = bits.words(1000)
    assert words.dtype == np.uint64
    assert words.shape == (1000,)
    assert len(np.unique(words)) == 1000
    assert len(bits.words(0)) == 0
    assert len(bits.bytes(33)) == 33
    ones = np.unpackbits(words.view(np.uint8)).sum()
    assert abs(int(ones) - 32000) < 6.2 * 126.5  # false alarm below 1e-9


def test_fresh_keys_differ():
    keys = {fresh_key() for _ in range(100)}
    assert len(keys) == 100
    assert {len(key) for key in keys} == {16}


def test_dictated_bits_say_when_they_are_used_up():
    bits = DictatedBits([[1], [2, 3]])
    assert bits.bytes(8) == (1).to_bytes(8, "big")
    assert not bits.used_up
    assert bits.words(2).tolist() == [2, 3]
    assert bits.used_up


def test_importing_randomness_imports_no_numba():
    program = "import sys, hushcount.noise.bits; print('numba' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"
