"""How a release was made, and what everything that is published can say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Self, cast

from hushcount.secure import SystemBytes

if TYPE_CHECKING:
    from hushcount.releases.stored.documents import Stored
    from hushcount.releases.stored.exact import Plain


@dataclass(frozen=True, slots=True)
class Made:
    """How a release was made: public facts, none of which depends on the data.

    Parameters
    ----------
    version : str
        The version of hushcount.
    time : str
        When the noise was drawn, in UTC, such as "2026-11-16T18:30:00Z".
    options : mapping
        The public options, as plain values; no path, no query, no address.
    source_name : str, optional
        What the data are called, if that was stated.
    recipe : mapping, optional
        The mechanism and the public numbers from which its calibration follows.
    id : str, optional
        A random name of the release, by which its copies are recognised; earlier versions gave none.
    """

    version: str
    time: str
    options: Mapping[str, Plain] = field(default_factory=dict)
    source_name: str | None = None
    recipe: Mapping[str, Plain] | None = None
    id: str | None = None

    @classmethod
    def now(cls, recipe: Mapping[str, object] | None = None) -> Made:
        """Return the version, the time, this recipe as plain values (sums have none), and a fresh name."""
        from hushcount.releases.stored.models import values_plain

        time = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        plain = None if recipe is None else {name: values_plain(each) for name, each in recipe.items()}
        return cls(software(), time, recipe=plain, id=SystemBytes().bytes(16).hex())

    def stating(self, options: Mapping[str, int | float | str | None], source_name: str | None) -> Made:
        """Return the same with further options, but for those that are None, and the name of the data."""
        from hushcount.releases.stored.models import values_plain

        given = {name: values_plain(value) for name, value in options.items() if value is not None}
        return replace(self, options={**self.options, **given}, source_name=source_name or self.source_name)


class Documented:
    """What tables, trees, keys and oracles have in common: how they were made, and one form as JSON."""

    __slots__ = ()

    if TYPE_CHECKING:
        made: Made | None

    def named(self, source_name: str) -> Self:
        """Return the same release, whose JSON and report say what the data are called.

        Parameters
        ----------
        source_name : str
            A public name, such as "searches of May 2026".
        """
        return self.made_with({}, source_name)

    def made_with(self, options: Mapping[str, int | float | str | None], source_name: str | None) -> Self:
        """Return the same release, which states further options and what the data are called.

        Parameters
        ----------
        options : mapping
            Names and values; those that are None are left out.
        source_name : str, optional
            What the data are called, if that is public.
        """
        if self.made is None:
            return self
        changed: Self = replace(self, made=self.made.stating(options, source_name))  # type: ignore[type-var]
        return changed

    def to_json(self) -> str:
        """Return all of it as one line of JSON, which `hc.read_release` gives back."""
        from hushcount.releases.stored.documents import json_of

        return json_of(cast("Stored", self))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it as its JSON, which is exact and which no code is run to read."""
        from hushcount.releases.stored.reading import read_release

        return read_release, (self.to_json().encode("utf-8", "surrogatepass"),)


@lru_cache(maxsize=1)
def software() -> str:
    """Return the version of hushcount, as far as it is installed."""
    from importlib.metadata import PackageNotFoundError, version  # which loads email

    try:
        return version("hushcount")
    except PackageNotFoundError:
        return "of a source tree"
