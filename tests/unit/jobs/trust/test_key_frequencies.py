"""Spectra of keys: exact for few keys, in blocks for many, and the floor of a sketch on them."""

import numpy as np
import pytest

import hushcount as hc
from hushcount.errors import ParameterError
from hushcount.jobs.trust.key_frequencies import spectrum_of


def test_zipf_of_few_keys_is_exact():
    spectrum = spectrum_of("zipf:1:4", 2500)
    assert spectrum.keys.tolist() == [1, 1, 1, 1]
    assert spectrum.counts == pytest.approx([1200, 600, 400, 300])


@pytest.mark.parametrize("exponent", [0, 0.8, 1.5])
def test_blocks_hold_all_keys_and_rows(exponent):
    spectrum = spectrum_of(f"zipf:{exponent}:3000000", 10**7)
    assert spectrum.keys.sum() == 3_000_000
    assert float(np.sum(spectrum.keys * spectrum.counts)) == pytest.approx(1e7)
    exact = np.arange(1, 3_000_001.0) ** -exponent
    exact *= 1e7 / exact.sum()
    assert spectrum.counts[:5] == pytest.approx(exact[:5], rel=1e-4)
    for least in (0.5, 2, 30):
        blocks = spectrum.keys[spectrum.counts >= least].sum()
        assert blocks == pytest.approx(np.sum(exact >= least), rel=0.02, abs=1)


def test_counts_of_a_sample_are_scaled():
    assert spectrum_of([1, 3], 400).counts.tolist() == [300, 100]


def test_an_earlier_release_is_a_sample(tmp_path):
    release = hc.top(["a"] * 900 + ["b"] * 600, epsilon=1.0, delta=1e-6)
    release.write(tmp_path / "t.json")
    read = spectrum_of(str(tmp_path / "t.json"), 3000).counts
    assert read.tolist() == spectrum_of(release, 3000).counts.tolist()
    assert read.sum() == pytest.approx(3000)


@pytest.mark.parametrize(
    "law", ["zipf:1", "zipf:a:b", "zipf:-1:5", "zipf:nan:5", "zipf:1:0", "words", [], [0], [-1, 2]]
)
def test_other_laws_are_refused(law):
    with pytest.raises(ParameterError):
        spectrum_of(law, 100)


@pytest.mark.parametrize(("exponent", "counters"), [(0.8, 300), (1.2, 1000), (2.0, 200)])
def test_the_floor_of_a_sketch_is_foretold(exponent, counters):
    shares = np.arange(1, 20_001.0) ** -exponent
    stream = np.random.default_rng(5).choice(20_000, size=300_000, p=shares / shares.sum())
    sketch = hc.SpaceSaving(counters=counters)
    sketch.update(stream)
    foretold = spectrum_of(f"zipf:{exponent}:20000", 300_000).floor(counters)
    assert abs(foretold - sketch.shape().floor) <= 2 + 0.01 * foretold
    assert spectrum_of("zipf:1:100", 10**6).floor(100) == 0
