"""Files of reports of a campaign to the counts of chosen items."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

from hushcount.errors import ParameterError
from hushcount.files.atomic import refuse_same
from hushcount.jobs.ldp.collection import ReadSettings
from hushcount.jobs.ldp.tables import item_of
from hushcount.privacy import check_confidence

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.jobs.request import Progress
    from hushcount.ldp.server.decoding import Frequencies
    from hushcount.privacy import Guarantee


class Answers(NamedTuple):
    """Estimated counts of chosen items, with a sentence on the reports and what is known of the error."""

    counted: str
    table: pa.Table
    guarantee: Guarantee
    sentences: tuple[str, ...]


def query(
    path: str,
    reports: Sequence[str],
    items: Sequence[str],
    settings: ReadSettings,
    progress: Progress | None = None,
) -> Answers:
    """Estimate how many users hold each of some items.

    Parameters
    ----------
    path:
        The manifest.
    reports:
        Files of reports; - is standard input.
    items:
        Items as text, chosen before seeing any result; numbers if the campaign is about numbers.
    settings:
        How the reports are read, and the confidence of the intervals.
    progress:
        Called with the bytes read so far and in all.
    """
    from hushcount.ldp.server.collection import collect, counted
    from hushcount.ldp.server.decoding import guarantee_of
    from hushcount.ldp.server.queries import frequencies
    from hushcount.ldp.wire.manifest import Manifest

    if not items:
        raise ParameterError("Give the items with --item, or in a file with --items-file.")
    confidence = check_confidence(settings.confidence)
    incoming = settings.incoming(reports, progress)
    refuse_same([settings.state], [path, *(name for name, _ in incoming.files if name != "-")])
    manifest = Manifest.load(path)
    for item in items:
        if manifest.encoding.encode(item_of(item, manifest.encoding)) is None:
            raise ParameterError(f"The campaign of {path} cannot encode one of the items, {item!r}.")
    aggregator = collect(manifest, incoming)
    found = frequencies(aggregator, [item_of(item, manifest.encoding) for item in items])
    return Answers(
        f"{counted(aggregator.reports, aggregator.refused)}.",
        _table(items, found, confidence),
        guarantee_of(manifest, aggregator.reports),
        (
            f"With confidence {confidence:g} the true count of an item chosen before seeing the result lies"
            " between lower and upper (normal approximation).",
            "count is an unbiased estimate, so it may be below 0 for an item that few users hold.",
        ),
    )


def _table(items: Sequence[str], found: Frequencies, confidence: float) -> pa.Table:
    """Return items with their estimated counts and intervals, in the order asked."""
    import numpy as np
    import pyarrow as pa

    half = -NormalDist().inv_cdf((1 - confidence) / 2) * found.deviations
    lower, upper = np.floor(found.estimates - half), np.ceil(found.estimates + half)
    ends = (np.maximum(end, 0).astype(np.int64) for end in (lower, upper))
    columns = (np.rint(found.estimates).astype(np.int64), *ends)
    return pa.table({"key": list(items), **dict(zip(("count", "lower", "upper"), columns, strict=True))})
