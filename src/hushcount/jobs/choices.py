"""What a caller can choose from by name: light, so that the help of the program can list it."""

from __future__ import annotations

from hushcount.sources.formats.registry import FORMATS

__all__ = ["CELLS", "COUNTED", "FORMATS", "KINDS", "METHODS", "ON_BAD", "SCHEMES", "SELECTIONS", "USER_KINDS"]

KINDS = ("space-saving", "misra-gries", "exact")  # of sketches that count a stream of events
USER_KINDS = (*KINDS, "user-misra-gries")  # and of users
METHODS = ("offline", "streaming")
COUNTED = ("users", "events")
ON_BAD = ("drop", "fail")
SCHEMES = ("pps", "ppswor")
SELECTIONS = ("steered", "sips", "weighted")  # how weights of users are spread over keys
CELLS = ("count-min", "count-sketch")
