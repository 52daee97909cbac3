"""Tables of events that are counted in several threads, each with keys of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hushcount.errors import ParameterError
from hushcount.jobs.run import TableAsk
from hushcount.jobs.settings import ReleaseSettings
from hushcount.jobs.users import UserSettings
from hushcount.mechanisms.registry import MECHANISMS
from hushcount.shapes import KeyShards, Sketch
from hushcount.sketches import kinds

NOT_DEALT = (
    "threads cannot be combined with mechanism {}, which is not proved for shards of keys; leave out the"
    " mechanism, or threads."
)


@dataclass(frozen=True)
class ThreadedAsk(TableAsk):
    """A table of events that are counted in several threads."""

    threads: int = 1

    def law(self) -> Mapping[str, object]:
        """Return the number of threads, each of which publishes a floor."""
        return {"threads": self.threads}


def dealt_sketch(settings: ReleaseSettings, counters: int, threads: int) -> Sketch:
    """Return an empty sketch for so many threads, or raise if the mechanism is not proved for them."""
    proved = () if settings.mechanism is None else MECHANISMS[settings.mechanism].accepts
    if proved and not issubclass(KeyShards, proved):
        raise ParameterError(NOT_DEALT.format(settings.mechanism))
    return kinds.new("key-shards", counters=counters, threads=threads)


def check_threads(threads: int, on_spark: bool, users: UserSettings) -> None:
    """Raise for several threads where something else counts."""
    others = {"Spark": on_spark, "user": users.user is not None, "exact": users.exact}
    named = [name for name, counts in others.items() if counts]
    if threads > 1 and named:
        raise ParameterError(f"threads cannot be combined with {named[0]}, which uses all cores by itself.")
