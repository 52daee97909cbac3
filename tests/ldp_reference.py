"""A second client of the local model, written from docs/ldp-wire.md alone: slow, obvious, and of one file.

It shares nothing with the package but the manifest, as a client in another language would.
"""

from __future__ import annotations

import json
from fractions import Fraction
from hashlib import blake2s, sha256
from typing import Any

Fields = dict[str, Any]


def canonical(fields: Fields) -> bytes:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def campaign_id(text: str) -> str:
    fields = json.loads(text)
    del fields["id"]
    return sha256(canonical(fields)).hexdigest()


# Items to integers.


def encode(encoding: Fields, item: Any) -> int | None:
    return globals()["encode_" + encoding["kind"]](encoding, item)


def letters(encoding: Fields, item: Any) -> list[int] | None:
    if not isinstance(item, str) or (len(item) > encoding["length"] and not encoding["truncate"]):
        return None
    places = [encoding["alphabet"].find(letter) + 1 for letter in item[: encoding["length"]]]
    return None if 0 in places else places + [0] * (encoding["length"] - len(places))


def number(digits: list[int], base: int) -> int:
    value = 0
    for digit in digits:
        value = value * base + digit
    return value


def encode_words(encoding: Fields, item: Any) -> int | None:
    digits = letters(encoding, item)
    return None if digits is None else number(digits, 2 ** len(bin(len(encoding["alphabet"]))[2:]))


def encode_packed_words(encoding: Fields, item: Any) -> int | None:
    digits = letters(encoding, item)
    return None if digits is None else number(digits, len(encoding["alphabet"]) + 1)


def encode_bytes(encoding: Fields, item: Any) -> int | None:
    octets = item.encode("utf-8") if isinstance(item, str) else item
    if not isinstance(octets, bytes) or (len(octets) > encoding["length"] and not encoding["truncate"]):
        return None
    octets = octets[: encoding["length"]]
    return number([octet + 1 for octet in octets] + [0] * (encoding["length"] - len(octets)), 512)


def encode_integers(encoding: Fields, item: Any) -> int | None:
    fits = isinstance(item, int) and not isinstance(item, bool) and 0 <= item < 2 ** encoding["bits"]
    return item if fits else None


def encode_categories(encoding: Fields, item: Any) -> int | None:
    return encoding["names"].index(item) if isinstance(item, str) and item in encoding["names"] else None


def width(encoding: Fields) -> int:
    if encoding["kind"] == "words":
        return encoding["length"] * len(encoding["alphabet"]).bit_length()
    if encoding["kind"] == "packed_words":
        return ((len(encoding["alphabet"]) + 1) ** encoding["length"] - 1).bit_length()
    if encoding["kind"] == "bytes":
        return 9 * encoding["length"]
    return encoding["bits"] if encoding["kind"] == "integers" else (len(encoding["names"]) - 1).bit_length()


# Public randomness.


def little(value: int, size: int) -> bytes:
    return value.to_bytes(size, "little")


def words(seed: bytes, nonce: bytes, group: int) -> list[int]:
    message = nonce + little(group, 1)
    wide = len(nonce) == 16
    digest = blake2s(message + bytes(wide), key=seed).digest()
    if wide:
        digest += blake2s(message + b"\x01", key=seed).digest()
    return [int.from_bytes(digest[4 * place : 4 * place + 4], "little") for place in range(len(digest) // 4)]


def constants(seed: bytes, purpose: str, where: tuple[int, int, int], count: int) -> list[int]:
    group, question, row = where
    found: list[int] = []
    while len(found) < count:
        name = purpose.encode().ljust(16, b"\0") + little(group, 1) + little(question, 2) + little(row, 4)
        digest = blake2s(name + little(len(found) // 4, 1), key=seed).digest()
        found += [int.from_bytes(digest[8 * place : 8 * place + 8], "little") for place in range(4)]
    return found[:count]


def hashed(seed: bytes, purpose: str, where: tuple[int, int, int], value: int, shape: tuple[int, int]) -> int:
    value_bits, bits = shape
    count = (value_bits + 31) // 32
    added, *factors = constants(seed, purpose, where, 1 + count)
    for place in range(count):
        added += factors[place] * (value // 2 ** (32 * place) % 2**32)
    return added % 2**64 // 2 ** (64 - bits)


def parity(value: int) -> int:
    return bin(value).count("1") % 2


# Questions: the cell and the flip.


class Asked:
    """What one group asks one nonce."""

    def __init__(self, manifest: Fields, nonce: bytes, group: int) -> None:
        self.seed = bytes.fromhex(manifest["seed"])
        self.width = width(manifest["encoding"])
        self.group = group
        fields = manifest["groups"][group]
        self.words = words(self.seed, nonce, group)
        total = self.question = 0
        for place, share in enumerate(fields["shares"]):
            total += share
            if total > self.words[0]:
                self.question = place
                break
        self.fields = fields["questions"][self.question]
        self.row = self.words[1] * self.fields["rows"] // 2**32
        size = 2 ** cell_bits(self.fields)
        self.masks = [word % size for word in self.words[2 : 2 + fields["symbol_bits"]]]
        self.extra = self.words[-1]
        self.where = (group, self.question, self.row)

    def bucket(self, value: int, bits: int, quotient: int) -> int:
        rest = self.width - quotient
        where = (self.group, 65535, self.row)
        return hashed(self.seed, "bucket", where, value % 2**rest, (rest, bits)) ^ value // 2**rest

    def cell(self, value: int) -> tuple[int, int]:
        return getattr(self, self.fields["kind"])(self.fields, value)

    def prefix(self, fields: Fields, value: int) -> tuple[int, int]:
        bits, cells = fields["bits"], fields["cell_bits"]
        prefix = value // 2 ** (self.width - bits)
        flip = hashed(self.seed, "sign", self.where, prefix, (bits, 1)) if fields["signed"] else 0
        return prefix if bits == cells else hashed(
            self.seed, "cell", self.where, prefix, (bits, cells)
        ), flip  # fmt: skip

    def tagged_prefix(self, fields: Fields, value: int) -> tuple[int, int]:
        shared = (self.group, 65535, 0)
        tag = hashed(self.seed, "bucket", shared, value, (self.width, fields["tag_bits"]))
        key = tag * 2 ** fields["bits"] + value // 2 ** (self.width - fields["bits"])
        bits = fields["tag_bits"] + fields["bits"]
        return hashed(self.seed, "cell", self.where, key, (bits, fields["cell_bits"])), 0

    def chunk(self, fields: Fields, value: int) -> tuple[int, int]:
        bucket = self.bucket(value, fields["bucket_bits"], fields["quotient_bits"])
        below = value // 2 ** (self.width - fields["start"] - fields["bits"])
        return bucket * 2 ** fields["bits"] + below % 2 ** fields["bits"], 0

    def code_bit(self, fields: Fields, value: int) -> tuple[int, int]:
        columns = [int(column, 16) for column in fields["columns"]]
        position = self.extra * len(columns) // 2**32
        bucket = self.bucket(value, fields["bucket_bits"], fields["quotient_bits"])
        return bucket, parity(columns[position] & value)

    def symbol(self, value: int) -> int:
        cell, flip = self.cell(value)
        bits = [parity(mask & cell) for mask in self.masks]
        bits[0] ^= flip
        return sum(bit * 2**place for place, bit in enumerate(bits))


def cell_bits(fields: Fields) -> int:
    if fields["kind"] == "chunk":
        return fields["bucket_bits"] + fields["bits"]
    return fields["bucket_bits"] if fields["kind"] == "code_bit" else fields["cell_bits"]


# The response and the report.


def probability(epsilon: str, symbol_bits: int) -> int:
    scale = 2**192
    growth, term, count = 0, scale, 0
    while term > 0:
        growth += term
        count += 1
        term = int(term * Fraction(epsilon) / count)
    return 2**64 * growth // (growth + (2**symbol_bits - 1) * scale)


def respond(truth: int | None, symbol_bits: int, chance: int, random: bytearray, version: int = 1) -> int:
    coin = int.from_bytes(take(random, 8), "little")
    missing, *words = eight_words(random, version)
    symbol = missing % 2**symbol_bits if truth is None else truth
    if coin < chance:
        return symbol
    while True:
        for word in words:
            if word % 2**symbol_bits:
                return symbol ^ word % 2**symbol_bits
        words = eight_words(random, version)


def eight_words(random: bytearray, size: int) -> list[int]:
    """Words of one byte in version 1, and of two in version 2."""
    return [int.from_bytes(take(random, size), "little") for _ in range(8)]


def take(random: bytearray, count: int) -> bytes:
    taken = bytes(random[:count])
    assert len(taken) == count
    del random[:count]
    return taken


def report(text: str, nonce: bytes, item: Any, random: bytearray) -> bytes:
    """The bytes to send: in version 2 perhaps several reports, the first of which is about the item."""
    manifest = json.loads(text)
    value = encode(manifest["encoding"], item)
    size = 8 * manifest["version"]
    parts = [nonce[start : start + size] for start in range(0, len(nonce), size)]
    assert len(parts) == manifest.get("reports", 1)
    return b"".join(
        one_report(manifest, part, None if place else value, random) for place, part in enumerate(parts)
    )


def one_report(manifest: Fields, nonce: bytes, value: int | None, random: bytearray) -> bytes:
    joined, factor = 0, 1
    for place, group in enumerate(manifest["groups"]):
        truth = None if value is None else Asked(manifest, nonce, place).symbol(value)
        symbol = respond(truth, group["symbol_bits"], int(group["probability"]), random, manifest["version"])
        joined += factor * symbol
        factor *= 2 ** group["symbol_bits"]
    version = manifest["version"]
    return bytes([version]) + bytes.fromhex(manifest["id"])[:8] + nonce + little(joined, version)


DISTANCES = ((0, 128), (1, 128), (8, 64), (15, 56), (22, 48), (29, 44))


def distance(bits):
    """The smallest number of places in which codewords of messages of `bits` bits differ."""
    return next(least for most, least in DISTANCES if bits <= most)
