"""A sample of about a wanted number of keys, at a rate that a noisy total sets.

Proof: docs/proofs/sampling/size.md.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from hushcount.errors import ParameterError
from hushcount.mechanisms.base import Claim, Mechanism, check_calibrated
from hushcount.mechanisms.forecast import KeyForecast, noise_words
from hushcount.mechanisms.sampling.sample import WAY_OUT, PrivateSample, PrivateSampleKeys
from hushcount.mechanisms.sampling.schemes import Pps, Ppswor, Scheme, rate_for_size
from hushcount.mechanisms.total import SHARE, WithTotal, rest_of, total_noise
from hushcount.privacy import Budget, Guarantee, PrivacyUnit, check_fraction
from hushcount.releases.accuracy import RELIABLE
from hushcount.releases.release import Release
from hushcount.shapes import NOTHING_PUBLIC, Public

if TYPE_CHECKING:
    from hushcount.noise.bits import Bits

SCHEMES: dict[str, type[Pps] | type[Ppswor]] = {"pps": Pps, "ppswor": Ppswor}
PROOF = "docs/proofs/sampling/size.md"


@dataclass(frozen=True, slots=True)
class WantedSize:
    """About how many keys are to be sampled, how, and at which share of epsilon the total is released."""

    size: int
    scheme: str = "pps"
    power: float = 1.0
    share: float = SHARE
    tokens: int = 1
    keys_only: bool = False

    def __post_init__(self) -> None:
        check_fraction("total_share", self.share)
        self.drawn_by(1)

    def drawn_by(self, total: int) -> Scheme:
        """Return the sampling scheme for a total of at least 1; nothing else of the data decides it."""
        return SCHEMES[self.scheme](rate_for_size(self.size, self.power, total), self.power)

    def fields(self) -> dict[str, object]:
        """Return what is wanted as plain values."""
        return asdict(self)


class SizedSample(Mechanism[WithTotal, Release]):
    """Keys sampled by count at a rate that a noisy total and a wanted number of keys set.

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one event, or one user who counts once for each of at most m keys.
    Assumes: one unit changes the total by at most m; what the sample assumes.
    Parameters: discrete Laplace noise of scale m / (share epsilon) on the total; the sample at
        (1 - share) epsilon and all of delta, at the rate min(1, size / total^max(1, power)).
    Proof: docs/proofs/sampling/size.md. Checked by: tests/privacy/test_sample_size.py
    """

    name = "sized-sample"
    accepts = (WithTotal,)
    sketch = "exact"
    way_out = WAY_OUT
    claim = Claim(
        "private weighted sampling at a rate set by a noisy total",
        "The total of all that is counted is released at a share of epsilon, with discrete Laplace noise, and"
        " sets the rate of the sample, which is released with the rest: (epsilon, delta)-DP by basic adaptive"
        " composition.",
        PROOF,
        ("one unit changes the total by at most its rows",),
    )

    def __init__(
        self,
        budget: Budget,
        public: Public = NOTHING_PUBLIC,
        wanted: WantedSize = WantedSize(1000),  # noqa: B008
        total: int | None = None,
    ) -> None:
        self.wanted, self.total = wanted, total
        super().__init__(budget, public)

    def calibrate(self) -> None:
        """Set the noise of the total, and what draws the sample; before the total is drawn at rate 1."""
        wanted = self.wanted
        asked = ("total_share", "total_share")
        self.noise = total_noise(self.budget, wanted.share, self.public.unit.rows, asked)
        rest, scheme = rest_of(self.budget, wanted.share), wanted.drawn_by(self.total or 1)
        self.sample: PrivateSample | PrivateSampleKeys = (
            PrivateSampleKeys(rest, self.public, scheme)
            if wanted.keys_only
            else PrivateSample(rest, self.public, scheme, wanted.tokens)
        )

    def check_sizes(self, shape: WithTotal) -> None:
        """Raise unless the counts can be sampled, and a unit has as many rows as was calibrated for."""
        super().check_sizes(shape)
        self.sample.check_kind(type(shape.summary))
        check_calibrated("rows of one unit", shape.unit.rows, self.public.unit.rows)

    def calibration(self) -> dict[str, int | float | str | None]:
        """Return what is wanted, what the total costs, and once it is drawn the total and the scheme."""
        wanted, rest = self.wanted, self.sample.budget.epsilon
        return {
            "scheme": None if self.total is None else self.sample.scheme.name,
            "size": wanted.size,
            "total": self.total,
            "total_share": wanted.share,
            "total_noise": noise_words(self.noise),
            "sample_epsilon": rest,
        }

    def guarantee(self, unit: PrivacyUnit, **parameters: int | float | str | None) -> Guarantee:
        """Return the guarantee of total and sample together."""
        own, sample = super().guarantee(unit, **parameters), self.sample.foretold(unit)
        return replace(
            own,
            theorem=f"{sample.theorem} {own.theorem}",
            proof=f"{sample.proof}, {own.proof}",
            parameters={**sample.parameters, **own.parameters} if self.total else own.parameters,
            assumptions=(*sample.assumptions, *own.assumptions),
        )

    def forecast(self) -> KeyForecast:
        """Return what the sample will publish, or raise while its rate is not known."""
        if self.total is None:
            raise ParameterError(
                "The rate of this sample follows from a noisy total, which is not drawn yet."
            )
        return self.sample.forecast()

    def release(self, shape: WithTotal, bits: Bits) -> Release:  # type: ignore[override]
        """Draw the total, and release the sample at the rate that it sets."""
        if self.total is not None:
            return super().release(shape, bits)
        self.check_kind(type(shape))
        self.check_sizes(shape)
        noisy = max(shape.total + int(self.noise.sample(1, bits)[0]), 1)
        return SizedSample(self.budget, self.public, self.wanted, noisy).release(shape, bits)

    def draw(self, shape: WithTotal, bits: Bits) -> Release:
        """Draw the sample at the rate that the total sets."""
        whole = self.sample.release(shape.summary, bits)
        return replace(whole, guarantee=self.foretold(shape.unit)).with_notes(self._said())

    def _said(self) -> str:
        """Say which total set the rate, and how far from the truth it may lie."""
        width = self.noise.two_sided(1 - RELIABLE)
        return (
            f"The sampling rate follows from a noisy total of {self.total:,}, which took"
            f" {self.wanted.share:g} of epsilon and lies at most {width:,} from the truth with confidence"
            f" {RELIABLE:g}."
        )
