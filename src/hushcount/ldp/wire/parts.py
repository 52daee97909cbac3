"""Parts of a manifest that are of several kinds, such as encodings and questions. Pure Python.

A part is a frozen value. The manifest writes its fields beside the name of its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, Self, TypeVar

from hushcount.errors import ManifestError, ParameterError

Fields = dict[str, object]  # of a part of the manifest, as JSON has them
WIDEST_ITEM = 1024  # bits


@dataclass(frozen=True, slots=True)
class Part:
    """A value that a manifest can hold."""

    kind: ClassVar[str]  # its name in the manifest

    def to_dict(self) -> Fields:
        """Return the part as the manifest writes it."""
        given = {given.name: getattr(self, given.name) for given in fields(self) if given.init}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}
        return {"kind": self.kind, **plain}

    @classmethod
    def read(cls, written: Fields) -> Self:
        """Return the part of fields as the manifest writes them; they are checked as its parameters are."""
        make: Callable[..., Self] = cls
        return make(**written)


def derive(value: object, **fields: object) -> None:
    """Set fields of a frozen value that follow from others, while it is made."""
    for name, field in fields.items():
        object.__setattr__(value, name, field)


Kind = TypeVar("Kind", bound=Part)


def read_part(written: object, kinds: Mapping[str, type[Kind]], what: str) -> Kind:
    """Return the part that a manifest describes, or raise ManifestError."""
    kind = written.get("kind") if isinstance(written, Mapping) else None
    if not isinstance(written, Mapping) or not isinstance(kind, str) or kind not in kinds:
        raise ManifestError(f"the kind of {what} must be one that this version knows, got {kind!r}.")
    rest = {name: value for name, value in written.items() if name != "kind"}
    try:
        return kinds[kind].read(rest)
    except (ParameterError, TypeError, ValueError, KeyError):
        raise ManifestError(f"the fields of {what} of kind {kind} break its rules.") from None


def check_text(name: str, text: object) -> str:
    """Return a text that UTF-8 can express, or raise."""
    if not isinstance(text, str) or any("\ud800" <= character <= "\udfff" for character in text):
        raise ParameterError(f"{name} must be text without halves of surrogate pairs.")
    return text
