"""`hc.plan_watch`: what a watch will publish, and what it would be charged, before any data are read."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, replace
from typing import Unpack

import numpy as np

from hushcount.accounting.ledger import Ledger
from hushcount.accounting.runs import Preview
from hushcount.errors import PrivacyWarning
from hushcount.jobs.feed.summing import chain
from hushcount.jobs.trust.key_frequencies import KeyFrequencies, spectrum_of
from hushcount.jobs.watch.terms import WatchOptions, WatchTerms
from hushcount.mechanisms.continual.forecast import burst, ever, spread, steady, waits
from hushcount.mechanisms.continual.gate import Gate
from hushcount.mechanisms.hierarchy.totals import stepped, sum_within
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import LARGEST_COUNT, check_count
from hushcount.releases.accuracy import RELIABLE

RATES = (1000.0, 100.0, 10.0, 1.0, 0.1, 0.01)  # events of a key in a period
GRID = 24  # counts between which the probability of an entry is interpolated
NOWHERE: WatchOptions = {"ledger": "", "dataset": "", "name": "watch"}


@dataclass(frozen=True, slots=True)
class WindowError:
    """How far the count of a known key may be off in some time.

    Parameters
    ----------
    window : str
        The time: a length, or "all".
    nodes : int
        How many published nodes are added up.
    error : int
        What the count stays within with confidence 0.95.
    """

    window: str
    nodes: int
    error: int


@dataclass(frozen=True, slots=True)
class WatchPlan:
    """What a watch will publish, by the calibration of its mechanism alone.

    Parameters
    ----------
    protected : str
        What is protected.
    epsilon, delta : float
        What the whole feed spends.
    gate_epsilon : float
        The epsilon at which one key waits, smaller if users have several keys or past nodes are published.
    periods : int
        How many periods there are.
    counted : str
        What counts are numbers of: events or users.
    threshold : int
        What a noisy count must reach in a period.
    burst, steady : int
        The smallest counts that are published with probability 0.95, if they come in one period or evenly.
    waits : tuple of pairs
        Numbers in a period, with the periods after which such a key is published, None if it is not.
    windows : tuple of WindowError
        How far counts of known keys may be off.
    expected_keys : float, optional
        How many keys are published until the end, if the number of events in a period was given.
    ledger : Preview, optional
        What the ledger would do.
    """

    protected: str
    epsilon: float
    delta: float
    gate_epsilon: float
    periods: int
    counted: str
    threshold: int
    burst: int
    steady: int
    waits: tuple[tuple[float, int | None], ...]
    windows: tuple[WindowError, ...]
    expected_keys: float | None = None
    ledger: Preview | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """The plan in words."""
        share = "" if self.gate_epsilon == self.epsilon else f" Keys wait at epsilon {self.gate_epsilon:.3g}."
        said = [
            f"The feed of {self.periods:,} periods would be private with epsilon {self.epsilon:g} and delta"
            f" {self.delta:g} for {self.protected}.{share}",
            f"A key is published with probability {RELIABLE:g} from {self.burst:,} {self.counted} in one"
            f" period on, or from {self.steady:,} that come evenly in all periods.",
        ]
        if self.expected_keys is not None:
            said.append(f"About {self.expected_keys:,.0f} keys would be published until the end.")
        return (*said, *(self.ledger.sentences if self.ledger else ()))

    def to_dict(self) -> dict[str, object]:
        """Return the numbers for JSON."""
        plain = {name: value for name, value in asdict(self).items() if name not in ("waits", "ledger")}
        pairs = [{"in_a_period": rate, "periods": periods} for rate, periods in self.waits]
        ledger = None if self.ledger is None else self.ledger.to_dict()
        return {"hushcount": 1, "kind": "watch-plan"} | plain | {"waits": pairs, "ledger": ledger}


def plan_watch(
    *, events: int | None = None, keys: KeyFrequencies = "zipf:1.1:1000000", **watch: Unpack[WatchOptions]
) -> WatchPlan:
    """Tell what a watch will publish, and what a ledger would be charged; nothing is read, made or spent.

    The answer comes from the calibration of the gate and the levels. Events are taken to come evenly.

    Parameters
    ----------
    events : int, optional
        How many events a period has, or pairs of user and key that are counted; tells how many keys are
        published.
    keys : str, path, Release or sequence of int
        How often keys occur, as for `plan`.
    **watch
        The watch, by the options of `watch`. Of these ledger and dataset may be left out.

    Returns
    -------
    WatchPlan
        What to expect; print its sentences, or read its attributes.

    Examples
    --------
    >>> planned = plan_watch(period="1d", start="2026-12-01", until="2027-12-01", epsilon=1.0, delta=1e-8)
    >>> planned.threshold, planned.burst, planned.steady
    (26, 28, 27)
    """
    terms = WatchTerms.asked({**NOWHERE, **watch})
    gate, calendar = terms.watching.gate, terms.calendar
    found = WatchPlan(
        *(terms.protected, terms.epsilon, terms.delta, float(gate.epsilon), calendar.periods, terms.counted),
        *(gate.tau, burst(gate), steady(gate, calendar.periods)),
        waits=tuple((rate, waits(gate, rate, calendar.periods)) for rate in RATES),
        windows=_windows(terms),
    )
    if events is not None:
        count = check_count("events", events, most=LARGEST_COUNT) * calendar.periods
        found = replace(found, expected_keys=_published(gate, calendar.periods, keys, count))
    if not terms.ledger:
        return found
    preview = Ledger(terms.ledger).preview(terms.dataset, terms.plan(terms.name))
    return replace(found, ledger=preview)


def _windows(terms: WatchTerms) -> tuple[WindowError, ...]:
    """Return how far counts may be off, for each level and for all of the time."""
    calendar, levels = terms.calendar, terms.watching.levels
    noise = DiscreteLaplace(min(levels.epsilons))
    spans = dict(zip(calendar.levels, calendar.lengths, strict=True))
    found = []
    for name, span in {**spans, "all": calendar.periods}.items():
        nodes = len(chain(calendar, 0, min(span, calendar.periods)))
        found.append(WindowError(name, nodes, sum_within(noise, stepped(nodes), 1 - RELIABLE)))
    return tuple(found)


def _published(gate: Gate, periods: int, keys: KeyFrequencies, events: int) -> float:
    """Return how many keys are published until the end, on average."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        spectrum = spectrum_of(keys, events)
    counts = np.unique(np.linspace(gate.least, 2 * burst(gate), GRID).astype(np.int64))
    chances = [ever(gate, spread(int(count), periods)) for count in counts]
    each = np.interp(spectrum.counts, counts, chances, left=0.0, right=1.0)
    return float(np.sum(each * spectrum.keys))
