"""How a sample is drawn follows from its options."""

from hushcount.jobs.samples.settings import SampleSettings
from hushcount.mechanisms.sampling.schemes import Pps, Ppswor
from hushcount.mechanisms.sampling.sized import WantedSize


def test_schemes():
    budget = {"epsilon": 1.0, "delta": 1e-6}
    assert SampleSettings(rate=0.5, **budget).drawn_by == Pps(0.5)
    public = SampleSettings(scheme="ppswor", size=10, power=2.0, max_events=100, **budget)
    assert public.drawn_by == Ppswor(1e-3, 2.0)
    noisy = SampleSettings(scheme="ppswor", size=10, power=2.0, total_share=0.1, **budget)
    assert noisy.drawn_by == WantedSize(10, "ppswor", 2.0, 0.1)
