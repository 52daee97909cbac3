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
from hushcount.ldp.wire.terms import NO_TERMS, Terms
from hushcount.ldp.wire.versions import DRAWN, ISSUED, VERSIONS, Wire
from hushcount.privacy import check_count
from hushcount.secure import fresh_key

THRESHOLD = "threshold"  # among the parameters: the smallest count to find
LARGEST_INTEGER = (1 << 53) - 1  # every reader of JSON represents such integers exactly
LAST_SECOND = 253_402_300_799  # 9999-12-31T23:59:59Z
MOST_GROUPS = 4
MOST_REPORTS = 16  # of one user
_NAME = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
_FIELDS = frozenset(
    ("encoding", "epsilon", "expires", "groups", "hash", "parameters", "protocol", "seed", "users", "version")
)
_GIVEN = ("protocol", "epsilon", "users", "expires", "parameters", "reports", "version")
_KNOWN = ", ".join(map(str, VERSIONS))
_NEW_FIELDS = frozenset(("reports", "terms"))  # since version 2


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
    reports:
        How many reports a user sends, each about another of their items; together they cost epsilon.
    terms:
        Who runs the campaign and what they promise.
    version:
        Version of the wire, 1 or 2. Version 1 has nonces from the collector, one report per user, and no
        terms.
    """

    protocol: str
    encoding: Encoding
    epsilon: str
    groups: tuple[Group, ...]
    users: int
    expires: int
    parameters: Mapping[str, int | str] = field(default_factory=dict, hash=False)
    seed: bytes = field(default_factory=lambda: fresh_key(SEED_BYTES))
    reports: int = 1
    terms: Terms = NO_TERMS
    version: int = DRAWN.version
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
        if type(self.version) is not int or self.version not in VERSIONS:
            raise ParameterError(f"version must be one of {_KNOWN}, got {self.version!r}.")
        derive(self, users=check_count("users", self.users, most=LARGEST_INTEGER))
        derive(self, reports=check_count("reports", self.reports, most=MOST_REPORTS))
        derive(self, expires=check_count("expires", self.expires, most=LAST_SECOND))
        if not isinstance(self.seed, bytes) or len(self.seed) != SEED_BYTES:
            raise ParameterError(f"seed must be {SEED_BYTES} bytes.")
        _check_parameters(self.parameters)
        self._check_groups()
        self._check_terms()

    def _check_groups(self) -> None:
        """Raise unless the groups can be asked together, for no more than the stated epsilon."""
        check_count("the number of groups", len(self.groups), most=MOST_GROUPS)
        if self.reports * sum(Fraction(group.epsilon) for group in self.groups) > Fraction(self.epsilon):
            each = "" if self.reports == 1 else f" / {self.reports} reports"
            raise ParameterError(f"the epsilons of the groups must sum to at most {self.epsilon}{each}.")
        most, room = self.wire.most_symbol_bits, self.wire.most_joint_bits
        if any(group.symbol_bits > most for group in self.groups):
            raise ParameterError(f"symbol_bits must be at most {most} in version {self.version}.")
        bits = sum(group.symbol_bits for group in self.groups)
        if bits > room:
            raise ParameterError(f"the symbols of all groups must fit into {room} bits, got {bits}.")
        width = self.encoding.width
        if not all(question.fits(width) for group in self.groups for question in group.questions):
            raise ParameterError(f"items of {width} bits are too short for one of the questions.")

    def _check_terms(self) -> None:
        """Raise unless the version has the terms, and a central guarantee is one that is proved."""
        if self.version == ISSUED.version and (self.reports != 1 or self.terms != NO_TERMS):
            raise ParameterError("version 1 has one report per user and no terms.")
        if self.terms.central is not None and (len(self.groups) != 1 or self.reports != 1):
            raise ParameterError(
                "a central guarantee is proved for one group and one report per user; leave it out, or use a"
                " protocol that asks once, such as tree_hist."
            )

    @property
    def wire(self) -> Wire:
        """The sizes of reports, nonces and symbols."""
        return VERSIONS[self.version]

    @property
    def id(self) -> str:
        """The id of the campaign: the SHA-256 of the canonical JSON, in hexadecimal digits."""
        return self.campaign.hex()

    @property
    def symbols(self) -> int:
        """The number of joint symbols of all groups; the symbols of a report are below it."""
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
        new = {"reports": self.reports, "terms": self.terms.to_dict()} if self.version > 1 else {}
        return {
            **new,
            "version": self.version,
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
    version = fields.get("version")
    if type(version) is not int or version not in VERSIONS:
        raise ManifestError(f"the version of the manifest must be one of {_KNOWN}, got {version!r}.")
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
    expected = _FIELDS if fields["version"] == ISSUED.version else _FIELDS | _NEW_FIELDS
    if set(fields) != expected:
        raise ManifestError(f"the manifest must have the fields id, {', '.join(sorted(expected))}.")
    if fields["hash"] != HASH_NAME:
        raise ManifestError(f"hash must be {HASH_NAME}.")
    if not isinstance(fields["groups"], list) or not isinstance(fields["parameters"], dict):
        raise ManifestError("groups must be a list and parameters an object.")
    if not all(isinstance(fields[name], str) for name in ("protocol", "epsilon", "seed")):
        raise ManifestError("protocol, epsilon and seed must be texts.")
    if not re.fullmatch(r"[0-9a-f]{64}", str(fields["seed"]), re.ASCII):
        raise ManifestError("seed must be 64 hexadecimal digits.")
    given = {name: fields[name] for name in _GIVEN if name in fields}
    if "terms" in fields:
        given["terms"] = Terms.from_dict(fields["terms"])
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
