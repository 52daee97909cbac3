"""`tracked_sketch`: an empty sketch that counts additions and deletions, of the size its release needs."""

from __future__ import annotations

from typing import cast

from hushcount.errors import ParameterError
from hushcount.jobs.settings import ReleaseSettings
from hushcount.mechanisms.linear.envelope import CountMinEnvelope
from hushcount.mechanisms.linear.measured import TRACKED
from hushcount.privacy import check_count
from hushcount.sketches.linear import TrackedSketch


def tracked_sketch(
    counters: int,
    *,
    max_events: int,
    delta: float,
    epsilon: float | None = None,
    rho: float | None = None,
    mechanism: str = CountMinEnvelope.name,
    max_weight: int = 1,
) -> TrackedSketch:
    """Return an empty sketch for additions and deletions, which `hc.release` publishes by an error envelope.

    The depth and width of its cells follow from the budget and the public bounds, so name the same ones when
    it is released. Nothing is spent here.

    Parameters
    ----------
    counters : int
        The number of keys that are tracked: all keys added more than max_events / counters times are.
    max_events : int
        A public bound on the number of additions and deletions together.
    delta, epsilon : float
        The budget of the release.
    rho : float, optional
        In place of epsilon, for all but "count-min-envelope": the budget in zero-concentrated differential
        privacy.
    mechanism : {"count-min-envelope", "count-sketch-envelope", "measured-envelope"}
        How the sketch will be released.
    max_weight : int
        The most that one event may weigh, up or down; noise grows with it, and `max_events` is then a bound
        on the sum of all weights without their signs.

    Returns
    -------
    TrackedSketch
        An empty sketch; count with `update(keys, weights=...)`, where 1 adds a key and -1 deletes it.

    Raises
    ------
    ParameterError
        If a number breaks its rule, or the mechanism is none for a sketch that tracks keys.

    Examples
    --------
    >>> import hushcount as hc
    >>> size = {"max_events": 20_000, "epsilon": 1.0, "delta": 1e-6}
    >>> sketch = hc.tracked_sketch(100, **size)
    >>> sketch.update(["tea"] * 9_000 + ["milk"] * 5_000)
    >>> sketch.update(["milk"] * 4_900, weights=[-1] * 4_900)
    >>> hc.release(sketch, mechanism="count-min-envelope", **size).table["key"].to_pylist()
    ['tea']
    """
    if mechanism not in TRACKED:
        raise ParameterError(f"mechanism must be one of {', '.join(TRACKED)}, got {mechanism}.")
    settings = ReleaseSettings(
        epsilon=epsilon, rho=rho, delta=delta, mechanism=mechanism, max_events=max_events
    )
    return cast("TrackedSketch", settings.sketch(counters, check_count("max_weight", max_weight)))
