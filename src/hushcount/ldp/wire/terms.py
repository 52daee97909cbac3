"""The terms of a campaign: who runs it and what they promise. Pure Python.

They are part of the manifest, so a client knows them before it answers, and whoever changes them makes
another campaign.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal

from hushcount.errors import ManifestError, ParameterError
from hushcount.ldp.wire.parts import Fields, check_text, derive
from hushcount.ldp.wire.response import epsilon_text
from hushcount.privacy import check_count, check_delta

PROMISE = (
    "The relay sends reports to the collector in batches of at least the smallest size, sorted by nonce, and"
    " keeps from it who sent them, when and in which order."
)
MOST_TEXT = 1000  # characters
MOST_DAYS = 36500
MOST_BATCH = 1 << 32
_DELTA = re.compile(r"0\.[0-9]{0,29}[1-9]", re.ASCII)


def delta_text(delta: float) -> str:
    """Return delta as a manifest writes it: a plain decimal.

    >>> delta_text(1e-9), delta_text(2.5e-7)
    ('0.000000001', '0.00000025')
    """
    check_delta(delta)
    return format(Decimal(repr(float(delta))), "f")


@dataclass(frozen=True, slots=True)
class Terms:
    """Who runs a campaign and what they promise.

    Parameters
    ----------
    collector:
        Who runs the collector, in words for the users; empty if it is not said.
    relay:
        Who runs the relay that shuffles the reports; empty without a relay.
    retention_days:
        The reports are deleted so many days after the campaign has ended.
    min_batch:
        The relay forwards reports in batches of at least so many.
    central_epsilon, central_delta:
        The guarantee against whoever sees only shuffled batches, as decimals in texts; empty if none is
        claimed. It is claimed only together with a relay, its promise and a smallest batch of at least 2.
    promise:
        What the relay promises; needed for a central guarantee, otherwise empty.
    """

    collector: str = ""
    relay: str = ""
    retention_days: int = 30
    min_batch: int = 1
    central_epsilon: str = ""
    central_delta: str = ""
    promise: str = ""

    def __post_init__(self) -> None:
        for name in ("collector", "relay", "promise"):
            if len(check_text(name, getattr(self, name))) > MOST_TEXT:
                raise ParameterError(f"{name} must have at most {MOST_TEXT} characters.")
        derive(self, retention_days=check_count("retention_days", self.retention_days, 0, MOST_DAYS))
        derive(self, min_batch=check_count("min_batch", self.min_batch, most=MOST_BATCH))
        self._check_central()

    def _check_central(self) -> None:
        """Raise unless a central guarantee is claimed whole or not at all, and with what it rests on."""
        given = [bool(check_text("central", text)) for text in (self.central_epsilon, self.central_delta)]
        if not any(given):
            if self.promise:
                raise ParameterError("promise is the relay's for a central guarantee, which is not claimed.")
            return
        if not all(given) or not self.relay or not self.promise or self.min_batch < 2:
            raise ParameterError(
                "a central guarantee needs an epsilon, a delta, a relay, its promise and a smallest batch"
                " of at least 2."
            )
        epsilon_text(self.central_epsilon)
        if not _DELTA.fullmatch(self.central_delta):
            raise ParameterError("central_delta must be a plain decimal below 1 with at most 30 places.")

    @property
    def central(self) -> tuple[float, float] | None:
        """The claimed central epsilon and delta, or None."""
        if not self.central_epsilon:
            return None
        return float(self.central_epsilon), float(self.central_delta)

    def to_dict(self) -> Fields:
        """Return the terms as the manifest writes them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: object) -> Terms:
        """Return the terms that a manifest states, or raise ManifestError."""
        names = sorted(cls.__dataclass_fields__)
        if not isinstance(fields, Mapping) or sorted(fields) != names:
            raise ManifestError(f"the terms must have the fields {', '.join(names)}.")
        make: Callable[..., Terms] = cls
        try:
            return make(**fields)
        except (ParameterError, TypeError) as error:
            raise ManifestError(f"the terms break their rules: {error}") from None


NO_TERMS = Terms()
