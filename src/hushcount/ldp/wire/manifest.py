"""The manifest of a campaign: all that is public, in canonical JSON; its SHA-256 is the campaign's id.

Pure Python. A client and an aggregator share the manifest and nothing else.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hushcount.errors import ManifestError, ParameterError
from hushcount.files.atomic import atomic_file
from hushcount.ldp import registry
from hushcount.ldp.wire import encodings
from hushcount.ldp.wire.encodings import Encoding
from hushcount.ldp.wire.groups import Group
from hushcount.ldp.wire.public_randomness import HASH_NAME, SEED_BYTES, PublicRandomness
from hushcount.ldp.wire.response import epsilon_text
from hushcount.ldp.wire.words import Fields, check_text, derived
from hushcount.privacy import check_count
from hushcount.secure import fresh_key

VERSION = 1
THRESHOLD = "threshold"  # among the parameters: the smallest count to find
LARGEST_INTEGER = (1 << 53) - 1  # what every reader of JSON holds exactly
LAST_SECOND = 253_402_300_799  # 9999-12-31T23:59:59Z
MOST_GROUPS = 4
_NAME = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
_FIELDS = frozenset(
    ("encoding", "epsilon", "expires", "groups", "hash", "parameters", "protocol", "seed", "users", "version")
)


@dataclass(frozen=True, slots=True)
class Manifest:
    """All that is public about a campaign; frozen, so that its id holds.

    `users` is the planned number of users, `expires` a time in seconds since 1970 (UTC), `parameters` what
    the protocol's decoder needs besides: whole numbers and texts. The seed is fresh unless given.
    """

    protocol: str
    encoding: Encoding
    epsilon: str
    groups: tuple[Group, ...]
    users: int
    expires: int
    parameters: Mapping[str, int | str] = field(default_factory=dict, hash=False)
    seed: bytes = field(default_factory=lambda: fresh_key(SEED_BYTES))
    public: PublicRandomness = derived()  # noqa: RUF009 - a field
    campaign: bytes = derived()

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", epsilon_text(self.epsilon))
        object.__setattr__(self, "groups", tuple(self.groups))
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        self._check()
        object.__setattr__(self, "public", PublicRandomness(self.seed))
        object.__setattr__(self, "campaign", sha256(canonical(self.to_dict())).digest())

    def _check(self) -> None:
        if self.protocol not in registry.CAMPAIGNS:
            known = ", ".join(registry.CAMPAIGNS)
            raise ParameterError(f"protocol must be one of {known}, got {self.protocol!r}.")
        for name, most in (("users", LARGEST_INTEGER), ("expires", LAST_SECOND)):
            object.__setattr__(self, name, check_count(name, getattr(self, name), most=most))
        if not isinstance(self.seed, bytes) or len(self.seed) != SEED_BYTES:
            raise ParameterError(f"seed must be {SEED_BYTES} bytes.")
        _check_parameters(self.parameters)
        self._check_groups()

    def _check_groups(self) -> None:
        check_count("the number of groups", len(self.groups), most=MOST_GROUPS)
        if sum(Fraction(group.epsilon) for group in self.groups) > Fraction(self.epsilon):
            raise ParameterError(f"the epsilons of the groups must sum to at most {self.epsilon}.")
        bits = sum(group.symbol_bits for group in self.groups)
        if bits > 8:
            raise ParameterError(f"the symbols of all groups must fit into 8 bits, got {bits}.")
        if not all(
            question.fits(self.encoding.width) for group in self.groups for question in group.questions
        ):
            raise ParameterError(f"every question must fit items of {self.encoding.width} bits.")

    @property
    def id(self) -> str:
        """The campaign's id: SHA-256 of the canonical JSON, in hexadecimal."""
        return self.campaign.hex()

    @property
    def symbols(self) -> int:
        """The symbols of all groups together: a report's last byte is below this."""
        return 1 << sum(group.symbol_bits for group in self.groups)

    def refuse_expired(self, now: float | None = None) -> None:
        """Raise ManifestError if the campaign has expired."""
        if (time.time() if now is None else now) >= self.expires:
            end = datetime.fromtimestamp(self.expires, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            raise ManifestError(f"the campaign expired at {end}.")

    def to_dict(self) -> Fields:
        """The fields that the id is taken of."""
        return {
            "version": VERSION,
            "protocol": self.protocol,
            "epsilon": self.epsilon,
            "users": self.users,
            "encoding": self.encoding.to_dict(),
            "groups": [group.to_dict() for group in self.groups],
            "hash": HASH_NAME,
            "seed": self.seed.hex(),
            "expires": self.expires,
            "parameters": dict(self.parameters),
        }

    def __reduce__(self) -> tuple[Callable[[str], Manifest], tuple[str]]:
        return Manifest.parse, (self.to_json(),)

    def to_json(self) -> str:
        """The manifest with its id, one line of canonical JSON."""
        return canonical({**self.to_dict(), "id": self.id}).decode()

    @classmethod
    def parse(cls, text: str | bytes) -> Manifest:
        """Read a manifest; refuse one that is damaged, edited, of an unknown version or against a rule."""
        fields = _read(text)
        try:
            manifest = _from_fields(fields)
        except ParameterError as error:
            raise ManifestError(str(error)) from None
        if canonical(manifest.to_dict()) != canonical(fields):
            raise ManifestError("the manifest must hold every value in its one canonical form.")
        return manifest

    def save(self, path: str | Path) -> None:
        """Write the manifest to a file, whole or not at all; it is public."""
        with atomic_file(path) as stream:
            stream.write(self.to_json().encode() + b"\n")

    @classmethod
    def load(cls, path: str | Path) -> Manifest:
        """Read a manifest from a file."""
        try:
            text = Path(path).read_bytes()
        except OSError as error:
            raise ManifestError(
                f"Cannot read {path}: {(error.strerror or 'input/output error').lower()}."
            ) from None
        return cls.parse(text)


def canonical(fields: Mapping[str, object]) -> bytes:
    """JSON with sorted keys, no spaces, and characters as themselves in UTF-8.

    >>> canonical({"b": [1, "é"], "a": "x"})
    b'{"a":"x","b":[1,"\\xc3\\xa9"]}'
    """
    return json.dumps(fields, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def _read(text: str | bytes) -> dict[str, Any]:
    """The fields of a manifest without its id, which must fit them."""
    try:
        plain = text.decode() if isinstance(text, bytes) else text  # UTF-8 and nothing else
        fields = json.loads(plain, object_pairs_hook=_distinct)
        if not isinstance(fields, dict):
            raise ValueError
        found = fields.pop("id", None)
        fitting = sha256(canonical(fields)).hexdigest()
    except (ValueError, RecursionError):
        raise ManifestError("the manifest must be one JSON object.") from None
    if fields.get("version") != VERSION:
        raise ManifestError(f"the version of the manifest must be {VERSION}, got {fields.get('version')!r}.")
    if found != fitting:
        raise ManifestError("the id must fit the manifest, which was edited or damaged.")
    return fields


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError
    return fields


def _from_fields(fields: Mapping[str, Any]) -> Manifest:
    if set(fields) != _FIELDS:
        raise ManifestError(f"the manifest must have the fields id, {', '.join(sorted(_FIELDS))}.")
    if fields["hash"] != HASH_NAME:
        raise ManifestError(f"hash must be {HASH_NAME}.")
    groups, parameters = fields["groups"], fields["parameters"]
    if not isinstance(groups, list) or not isinstance(parameters, dict):
        raise ManifestError("groups must be a list and parameters an object.")
    if not all(isinstance(fields[name], str) for name in ("protocol", "epsilon", "seed")):
        raise ManifestError("protocol, epsilon and seed must be texts.")
    if not re.fullmatch(r"[0-9a-f]{64}", fields["seed"], re.ASCII):
        raise ManifestError("seed must be 64 hexadecimal digits.")
    return Manifest(
        protocol=fields["protocol"],
        encoding=encodings.from_dict(fields["encoding"]),
        epsilon=fields["epsilon"],
        groups=tuple(Group.from_dict(group) for group in groups),
        users=fields["users"],
        expires=fields["expires"],
        parameters=parameters,
        seed=bytes.fromhex(fields["seed"]),
    )


def _check_parameters(parameters: Mapping[str, object]) -> None:
    for name, value in parameters.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ParameterError("a name of the parameters must be lower-case letters, digits and _.")
        if isinstance(value, int):
            check_count(name, value, least=-LARGEST_INTEGER, most=LARGEST_INTEGER)
        else:
            check_text(name, value)
