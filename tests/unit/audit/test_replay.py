"""Record and replay sees scales, statements and branches that depend on the data, and nothing else."""

from pathlib import Path

import pytest

from hushcount.audit.replay import RecordedBits, replay
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.laplace import DiscreteLaplace

HERE = Path(__file__)
LAW = DiscreteLaplace(0.5)


def sound(counts, bits):
    """Noise for each count; what is stated does not depend on them."""
    LAW.sample(len(counts), bits)
    return {"threshold": 7}


def threshold_from_the_length(counts, bits):
    LAW.sample(len(counts), bits)
    return {"threshold": sum(counts)}


def scale_from_the_number_of_keys(counts, bits):
    DiscreteLaplace(1.0 / len(counts)).sample(len(counts), bits)


def another_kind_of_noise(counts, bits):
    law = DiscreteGaussian(3) if sum(counts) > 5 else LAW
    law.sample(len(counts), bits)


def no_noise_for_a_small_sum(counts, bits):
    if sum(counts) <= 5:
        return
    LAW.sample(len(counts), bits)


def branch_after_the_noise(counts, bits):
    noisy = sum(counts) + int(LAW.sample(1, bits)[0])
    if noisy > 5:
        noisy += 1
    else:
        noisy -= 1


def found(release, more=(3, 2, 1), less=(3, 2)):
    return replay(lambda bits: release(more, bits), lambda bits: release(less, bits), HERE)


@pytest.mark.parametrize("release", [sound, branch_after_the_noise])
def test_what_depends_on_noise_or_on_the_number_of_draws_is_no_difference(release):
    assert found(release) == []


def test_statements():
    assert found(threshold_from_the_length) == ["What is stated as public differs."]


def test_scales():
    assert found(scale_from_the_number_of_keys) == [
        "The noise has another scale: DiscreteLaplace(epsilon=0.3333333333333333).",
        "The noise has another scale: DiscreteLaplace(epsilon=0.5).",
    ]
    kinds = found(another_kind_of_noise)
    assert any("DiscreteGaussian(sigma=3)" in sentence for sentence in kinds)


def test_branches():
    sentences = found(no_noise_for_a_small_sum)
    assert any(sentence.startswith("Before any noise only one side runs line") for sentence in sentences)
    assert any("test_replay.py" in sentence for sentence in sentences)


def test_the_same_bytes_are_drawn_again_and_then_new_ones():
    bits = RecordedBits()
    first = bits.bytes(5) + bits.words(2).tobytes()
    again = RecordedBits(bits.kept)
    assert again.bytes(21) == first
    assert len(again.bytes(3)) == 3
    assert len(again.kept) == 24
