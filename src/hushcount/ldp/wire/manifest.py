"""The manifest of a campaign: everything public, in canonical JSON whose SHA-256 is the campaign's id.

Pure Python. Clients and the aggregator need the manifest and the nonces, nothing else.
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

from hushcount.errors import ManifestError, ParameterError, cannot_read
from hushcount.files.atomic import atomic_file
from hushcount.ldp import registry
from hushcount.ldp.wire import encodings
from hushcount.ldp.wire.encodings import Encoding
from hushcount.ldp.wire.groups import Group
from hushcount.ldp.wire.parts import Fields, check_text, derive
from hushcount.ldp.wire.public_randomness import HASH_NAME, SEED_BYTES, PublicRandomness
from hushcount.ldp.wire.response import epsilon_text
from hushcount.privacy import check_count
from hushcount.secure import fresh_key

VERSION = 1
THRESHOLD = "threshold"  # among the parameters: the smallest count to find
LARGEST_INTEGER = (1 << 53) - 1  # every reader of JSON represents such integers exactly
LAST_SECOND = 253_402_300_799  # 9999-12-31T23:59:59Z
MOST_GROUPS = 4
_NAME = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
_FIELDS = frozenset(
    ("encoding", "epsilon", "expires", "groups", "hash", "parameters", "protocol", "seed", "users", "version")
)


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything public about a campaign. A manifest is frozen, because its id follows from its fields.

    Parameters
    ----------
    protocol:
        Name of the protocol, which decides how the reports are decoded.
    encoding:
        How items become integers.
    epsilon:
        Privacy loss of one report, as a decimal in a text.
    groups:
        Groups of questions; every client answers one question of each.
    users:
        Planned number of users.
    expires:
        End of the campaign in seconds since 1970 (UTC).
    parameters:
        What the protocol's decoder needs besides: integers and texts by name.
    seed:
        Public seed of 32 bytes for questions and hashes; by default a fresh one.
    """

    protocol: str
    encoding: Encoding
    epsilon: str
    groups: tuple[Group, ...]
    users: int
    expires: int
    parameters: Mapping[str, int | str] = field(default_factory=dict, hash=False)
    seed: bytes = field(default_factory=lambda: fresh_key(SEED_BYTES))
    public: PublicRandomness = field(init=False, repr=False, compare=False)
    campaign: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        derive(self, epsilon=epsilon_text(self.epsilon), groups=tuple(self.groups))
        derive(self, parameters=MappingProxyType(dict(self.parameters)))
        self._check()
        derive(self, public=PublicRandomness(self.seed), campaign=sha256(canonical(self.to_dict())).digest())

    def _check(self) -> None:
        """Raise unless all fields are valid."""
        if self.protocol not in registry.CAMPAIGNS:
            known = ", ".join(registry.CAMPAIGNS)
            raise ParameterError(f"protocol must be one of {known}, got {self.protocol!r}.")
        derive(self, users=check_count("users", self.users, most=LARGEST_INTEGER))
        derive(self, expires=check_count("expires", self.expires, most=LAST_SECOND))
        if not isinstance(self.seed, bytes) or len(self.seed) != SEED_BYTES:
            raise ParameterError(f"seed must be {SEED_BYTES} bytes.")
        _check_parameters(self.parameters)
        self._check_groups()

    def _check_groups(self) -> None:
        """Raise unless the groups can be asked together, for no more than the stated epsilon."""
        check_count("the number of groups", len(self.groups), most=MOST_GROUPS)
        if sum(Fraction(group.epsilon) for group in self.groups) > Fraction(self.epsilon):
            raise ParameterError(f"the epsilons of the groups must sum to at most {self.epsilon}.")
        bits = sum(group.symbol_bits for group in self.groups)
        if bits > 8:
            raise ParameterError(f"the symbols of all groups must fit into 8 bits, got {bits}.")
        width = self.encoding.width
        if not all(question.fits(width) for group in self.groups for question in group.questions):
            raise ParameterError(f"items of {width} bits are too short for one of the questions.")

    @property
    def id(self) -> str:
        """The id of the campaign: the SHA-256 of the canonical JSON, in hexadecimal digits."""
        return self.campaign.hex()

    @property
    def symbols(self) -> int:
        """The number of joint symbols of all groups; the last byte of a report is below it."""
        return 1 << sum(group.symbol_bits for group in self.groups)

    def expired(self, now: float | None = None) -> bool:
        """Return whether the campaign has ended at `now`, by default the present time."""
        return (time.time() if now is None else now) >= self.expires

    def refuse_expired(self, now: float | None = None) -> None:
        """Raise ManifestError if the campaign has ended at `now`, by default the present time."""
        if self.expired(now):
            end = datetime.fromtimestamp(self.expires, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            raise ManifestError(f"the campaign expired at {end}.")

    def to_dict(self) -> Fields:
        """Return the fields from which the id is computed."""
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
        """Return the manifest with its id as one line of canonical JSON."""
        return canonical({**self.to_dict(), "id": self.id}).decode()

    @classmethod
    def parse(cls, text: str | bytes) -> Manifest:
        """Return the manifest in a text, or raise ManifestError if it is damaged, edited or invalid."""
        fields = _read(text)
        try:
            manifest = _from_fields(fields)
        except ParameterError as error:
            raise ManifestError(str(error)) from None
        if canonical(manifest.to_dict()) != canonical(fields):
            raise ManifestError("the manifest must hold every value in its one canonical form.")
        return manifest

    def save(self, path: str | Path) -> None:
        """Write the manifest to a public file, whole or not at all."""
        with atomic_file(path) as stream:
            stream.write(self.to_json().encode() + b"\n")

    @classmethod
    def load(cls, path: str | Path) -> Manifest:
        """Return the manifest in a file, or raise ManifestError."""
        try:
            text = Path(path).read_bytes()
        except OSError as error:
            raise ManifestError(cannot_read(path, error)) from None
        return cls.parse(text)


def canonical(fields: Mapping[str, object]) -> bytes:
    """Return JSON with sorted keys, without spaces, and with unescaped characters in UTF-8.

    >>> canonical({"b": [1, "é"], "a": "x"})
    b'{"a":"x","b":[1,"\\xc3\\xa9"]}'
    """
    return json.dumps(fields, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def _read(text: str | bytes) -> Fields:
    """Return the fields of a manifest without its id, which must be theirs."""
    try:
        plain = text.decode() if isinstance(text, bytes) else text  # json would guess other encodings too
        fields = json.loads(plain, object_pairs_hook=_distinct)
        if not isinstance(fields, dict):
            raise ValueError
        found = fields.pop("id", None)
        expected = sha256(canonical(fields)).hexdigest()
    except (ValueError, RecursionError):
        raise ManifestError("the manifest must be one JSON object.") from None
    if fields.get("version") != VERSION:
        raise ManifestError(f"the version of the manifest must be {VERSION}, got {fields.get('version')!r}.")
    if found != expected:
        raise ManifestError("the id is not that of this manifest, which was edited or damaged.")
    return fields


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the fields of a JSON object, or raise if a name occurs twice."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError
    return fields


def _from_fields(fields: Fields) -> Manifest:
    """Return the manifest of fields whose types were not checked yet, or raise."""
    if set(fields) != _FIELDS:
        raise ManifestError(f"the manifest must have the fields id, {', '.join(sorted(_FIELDS))}.")
    if fields["hash"] != HASH_NAME:
        raise ManifestError(f"hash must be {HASH_NAME}.")
    if not isinstance(fields["groups"], list) or not isinstance(fields["parameters"], dict):
        raise ManifestError("groups must be a list and parameters an object.")
    if not all(isinstance(fields[name], str) for name in ("protocol", "epsilon", "seed")):
        raise ManifestError("protocol, epsilon and seed must be texts.")
    if not re.fullmatch(r"[0-9a-f]{64}", str(fields["seed"]), re.ASCII):
        raise ManifestError("seed must be 64 hexadecimal digits.")
    given = {name: fields[name] for name in ("protocol", "epsilon", "users", "expires", "parameters")}
    encoding = encodings.from_dict(fields["encoding"])
    groups = tuple(Group.from_dict(group) for group in fields["groups"])
    make: Callable[..., Manifest] = Manifest
    return make(**given, encoding=encoding, groups=groups, seed=bytes.fromhex(str(fields["seed"])))


def _check_parameters(parameters: Mapping[str, object]) -> None:
    """Raise unless names are simple and values are integers or texts."""
    for name, value in parameters.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ParameterError("a name of the parameters must be lower-case letters, digits and _.")
        if isinstance(value, int):
            check_count(name, value, least=-LARGEST_INTEGER, most=LARGEST_INTEGER)
        else:
            check_text(name, value)
