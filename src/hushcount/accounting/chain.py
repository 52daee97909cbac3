"""The chain of a dataset's entries: each hash covers its entry and, through the hash before, all earlier.

h_n = SHA-256("hushcount-ledger-1\\n" | h_(n-1) | canonical JSON of entry n), where h_0 is the hash of a
random identity in place of an entry. Whoever can write the ledger could rebuild the chain, so a witness
(number and hash of the last entry) is kept beside it and wherever its owner exports it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from hushcount.errors import LedgerError, system_reason
from hushcount.files.atomic import PRIVATE, atomic_file

FORMAT = "hushcount-ledger-1"
PREFIX = f"{FORMAT}\n".encode()
Heads = dict[str, "Head"]


@dataclass(frozen=True, slots=True)
class Head:
    """Number and hash of the last entry of a dataset, as far as a witness knows."""

    seq: int
    hash: str


def canonical(value: object) -> str:
    """Return plain values as JSON in the one form that is hashed.

    >>> canonical({"b": "ü", "a": [1, None]})
    '{"a":[1,null],"b":"ü"}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(content: bytes) -> str:
    """Return the SHA-256 of an answer, in hexadecimal digits."""
    return sha256(content).hexdigest()


def first_hash(identity: str) -> str:
    """Return h_0 of a dataset with this random identity."""
    return digest(PREFIX + bytes.fromhex(identity))


def next_hash(before: str, body: str) -> str:
    """Return the hash of an entry that follows the one with hash `before`."""
    return digest(PREFIX + bytes.fromhex(before) + body.encode())


def question_hash(question: Mapping[str, object]) -> str:
    """Return the hash of a question: plain values of all that changes the distribution of the answer."""
    return digest(canonical(question).encode())


def witness(heads: Heads) -> dict[str, object]:
    """Return heads as plain values."""
    listed = [{"dataset": name, "seq": str(head.seq), "hash": head.hash} for name, head in heads.items()]
    return {"format": FORMAT, "datasets": listed}


def witness_file(location: str | os.PathLike[str]) -> str:
    """Return where the witness of a ledger in a file is, by whatever name the ledger is called."""
    return f"{os.path.realpath(location)}.head"


def write_witness(path: str, heads: Heads) -> None:
    """Write heads to a file that only its owner can read."""
    with atomic_file(path, PRIVATE, told=False) as stream:
        stream.write(canonical(witness(heads)).encode() + b"\n")


def read_witness(path: str | os.PathLike[str]) -> Heads:
    """Return the heads of a witness or of an exported ledger, or raise."""
    try:
        with open(path, "rb") as stream:
            stored = json.load(stream)
        if stored["format"] != FORMAT:
            raise ValueError
        listed = stored["datasets"]
        return {str(each["dataset"]): Head(int(each["seq"]), str(each["hash"])) for each in listed}
    except OSError as error:
        reason = system_reason(error)
    except (ValueError, KeyError, TypeError):
        reason = "it is not a witness of a ledger"
    raise LedgerError(f"{os.fspath(path)} cannot be read: {reason}.")


def broken_link(first: str, entries: Iterable[tuple[int, str, str]]) -> int | None:
    """Return the number of the first entry (number, body, hash) that is not on the chain, None if all are."""
    before = first
    for place, (seq, body, stored) in enumerate(entries, start=1):
        before = next_hash(before, body)
        if seq != place or stored != before:
            return place
    return None
