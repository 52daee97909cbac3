"""Which offline tree is published: by rows, or by users of every node, whichever publishes smaller counts."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from hushcount.errors import ParameterError
from hushcount.hierarchies.base import Hierarchy
from hushcount.jobs.leaves import NodesAsk, OfflineTreeAsk, SortedLeaves, UsersOfNodes
from hushcount.jobs.request import Request
from hushcount.jobs.trees.settings import TreeSettings
from hushcount.mechanisms.histograms.gaussian import CERTAIN


def offline_ask(request: Request, settings: TreeSettings, hierarchy: Hierarchy) -> OfflineTreeAsk:
    """Return the offline tree that is asked for; for users, what publishes the smallest counts."""
    unit = request.unit
    rows = SortedLeaves(hierarchy, settings.on_bad, settings.max_events, unit)
    by_row = OfflineTreeAsk(request, settings, rows)
    nodes = UsersOfNodes(hierarchy, settings.on_bad, settings.max_events, unit, max_keys=unit.rows)
    by_node = NodesAsk(replace(request, with_users=request.bound is not None), settings, nodes)
    if settings.by_level or settings.rho is not None:  # Gaussian noise is that of every node
        return by_node
    return by_row if request.bound is None or unit.rows == 1 else _smallest(by_row, by_node)


def _smallest(*asks: OfflineTreeAsk) -> OfflineTreeAsk:
    """Return the tree that publishes the smallest counts at the threshold, by public numbers alone."""
    threshold, found = asks[0].settings.least_residual(), []
    for ask in asks:
        with suppress(ParameterError):
            found.append((ask.mechanism(threshold).forecast().smallest(CERTAIN, 0.0), ask))
    if not found:
        smallest = min(ask.mechanism(None).threshold for ask in asks)
        raise ParameterError(
            f"threshold must be at least {smallest} for users of at most {asks[0].sketch.unit.rows} keys at"
            f" this epsilon and delta, got {threshold}."
        )
    found.sort(key=lambda pair: pair[0])
    first, *others = [f"{ask.route}: {ask.said(reliable)}" for reliable, ask in found]
    return replace(found[0][1], notes=(f"Route {first}", *map("Not taken, {}".format, others)))
