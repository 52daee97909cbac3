"""Write tests/vectors/ldp_*.json, with which any client of the local model can be tested.

`python -m tests.make_ldp_vectors` writes them anew; tests/acceptance/test_ldp_vectors.py checks that nothing
changes. The random bytes in them are fixed, so they are no secret and no client may use them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import blake2s, sha256
from pathlib import Path
from typing import Any

from hushcount.errors import HushcountError
from hushcount.ldp.client.client import Client, assigned, truthful
from hushcount.ldp.wire.encodings import Bytes, Categories, Integers, PackedWords, Words
from hushcount.ldp.wire.groups import Group
from hushcount.ldp.wire.manifest import Manifest, canonical
from hushcount.ldp.wire.public_randomness import BUCKET, CELL, SHARED, SIGN, PublicRandomness
from hushcount.ldp.wire.questions import Chunk, CodeBit, Prefix, QuestionPlace, TaggedPrefix
from hushcount.ldp.wire.report import parse, refusal
from hushcount.ldp.wire.response import respond, response_probability

FOLDER = Path(__file__).parent / "vectors"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ALL, HALF, QUARTER = 1 << 32, 1 << 31, 1 << 30
EXPIRES = 4_102_444_800  # 2100-01-01T00:00:00Z
NAMES = ("tea", "café", '"quoted"\\', "tab\tand\u0001", "\U0001f33f", "")
ENCODINGS = {
    "words": Words(LETTERS, 6),
    "words, cut": Words("aäß\U0001f33fz", 3, 1),
    "packed words": PackedWords(LETTERS, 6),
    "bytes": Bytes(12),
    "long bytes, cut": Bytes(40, 1),
    "integers": Integers(64),
    "categories": Categories(NAMES),
}
ITEMS = {
    "words": ["", "a", "tea", "banana", "zzzzzz", "bananas", "Tea", "té", 5, None],
    "words, cut": ["", "z", "äß\U0001f33f", "zaßzz", "zaßx", "zax", None],
    "packed words": ["", "a", "tea", "zzzzzz", "bananas", "a b", None],
    "bytes": ["", "tea", "naïve", b"\x00\xff\x00", b"", b"twelve bytes", "thirteen byte", 7, None],
    "long bytes, cut": ["https://example.org/a/long/path/that/is/cut", b"\xff" * 41, "x", None],
    "integers": [0, 1, 2**32, 2**53 + 1, 2**64 - 1, 2**64, -1, "1", True, 1.5, None],
    "categories": [*NAMES, "milk", "Tea", 0, None],
}
CODE = tuple(int.from_bytes(blake2s(bytes([place])).digest()[:4], "big") >> 3 | 1 for place in range(16))


class Recorded:
    """Fixed bytes that follow from a label; remembers those that were asked for."""

    def __init__(self, label: str) -> None:
        self._label = label.encode()
        self.used = b""

    def bytes(self, count: int) -> bytes:
        fresh = b"".join(
            blake2s(self._label + bytes([len(self.used), block])).digest() for block in range(-(-count // 32))
        )
        self.used += fresh[:count]
        return fresh[:count]


def seed(name: str) -> bytes:
    return blake2s(b"vector seed " + name.encode()).digest()


def manifests() -> dict[str, Manifest]:
    """The campaigns of the vectors: every kind of encoding and question, one and two groups."""
    tree = Group("2", 3, (Prefix(15, 1, 15), Prefix(30, 16, 18)), (ALL // 3, ALL - ALL // 3))
    chunks = tuple(Chunk(12, start, 10) for start in (0, 10, 20))
    bits = Group("2", 3, (*chunks, Prefix(30, 16, 18)), (QUARTER,) * 4)
    tagged = Group("2", 3, (TaggedPrefix(15, 6, 2, 18), Prefix(30, 16, 18)), (HALF, HALF))
    paper = (
        Group("0.5", 1, (Prefix(54, 285, 12, 1), Prefix(108, 285, 12, 1)), (HALF, HALF)),
        Group("0.5", 1, (Prefix(108, 285, 12, 1),), (ALL,)),
    )
    several = (Group("2", 3, (Prefix(64, 3, 20),), (ALL,)), Group("4", 5, (Prefix(20, 1, 20),), (ALL,)))
    made = [
        ("tree", "tree_hist", "words", "2", (tree,)),
        ("tagged", "tree_hist", "words", "2", (tagged,)),
        ("chunks", "bitstogram", "words", "2", (bits,)),
        (
            "code",
            "bitstogram_binary",
            "packed words",
            "1",
            (Group("1", 1, (CodeBit(12, CODE, 4, 8),), (ALL,)),),
        ),
        ("paper", "tree_hist_paper", "bytes", "1", paper),
        ("several", "tree_hist", "integers", "6", several),
        ("long", "tree_hist", "long bytes, cut", "1.5", (Group("1.5", 2, (Prefix(360, 2, 32),), (ALL,)),)),
        ("names", "explicit_hist", "categories", "0.1", (Group("0.1", 1, (Prefix(3, 1, 3),), (ALL,)),)),
        ("cut", "explicit_hist", "words, cut", "3", (Group("3", 4, (Prefix(9, 1, 9),), (ALL,)),)),
    ]
    return {
        name: Manifest(
            protocol, ENCODINGS[encoding], epsilon, groups, 10_000_000, EXPIRES, {"note": name}, seed(name)
        )
        for name, protocol, encoding, epsilon, groups in made
    }


def encoding_name(manifest: Manifest) -> str:
    return next(name for name, encoding in ENCODINGS.items() if encoding == manifest.encoding)


def plain(item: object) -> object:
    """An item for JSON: bytes and large numbers as objects."""
    if isinstance(item, bytes):
        return {"hex": item.hex()}
    if isinstance(item, int) and abs(item) >= 2**53:
        return {"integer": str(item)}
    return item


def encodings() -> list[dict[str, Any]]:
    return [
        {
            "encoding": encoding.to_dict(),
            "width": encoding.width,
            "items": [
                {"item": plain(item), "value": None if value is None else str(value)}
                for item, value in ((item, encoding.encode(item)) for item in ITEMS[name])
            ],
        }
        for name, encoding in ENCODINGS.items()
    ]


def good_manifests() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "id": manifest.id,
            "canonical": canonical(manifest.to_dict()).decode(),
            "manifest": manifest.to_json(),
        }
        for name, manifest in manifests().items()
    ]


def signed(fields: dict[str, Any]) -> str:
    """A manifest whose id fits, whatever its fields."""
    return canonical({**fields, "id": sha256(canonical(fields)).hexdigest()}).decode()


def changed(path: str, value: object) -> str:
    """The manifest `tree` with the field at a dotted path replaced, and the id made to fit."""
    fields = json.loads(canonical(manifests()["tree"].to_dict()))
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    inner: Any = fields
    for part in parents:
        inner = inner[part]
    inner[last] = value
    return signed(fields)


def bad_texts() -> Iterator[tuple[str, str]]:
    good = manifests()["tree"].to_json()
    yield "edited by hand", good.replace('"users":10000000', '"users":10000001')
    yield "id of another", good.replace(manifests()["tree"].id, manifests()["chunks"].id)
    yield "no id", canonical(manifests()["tree"].to_dict()).decode()
    yield "cut short", good[:-1]
    yield "not an object", "[]"
    yield "a field twice", good[:-1] + ',"version":1}'
    yield "unknown version", changed("version", 2)
    yield "unknown protocol", changed("protocol", "tree")
    yield "unknown hash", changed("hash", "md5")
    yield "unknown field", changed("colour", "blue")
    yield "unknown encoding", changed("encoding.kind", "pictures")
    yield "encoding too wide", changed("encoding.length", 300)
    yield "unknown question", changed("groups.0.questions.0.kind", "name")
    yield "question too wide", changed("groups.0.questions.1.bits", 31)
    yield "too many cells", changed("groups.0.questions.1.cell_bits", 33)
    yield "unknown field of a question", changed("groups.0.questions.0.colour", 1)
    yield "shares that do not sum", changed("groups.0.shares.0", 1)
    yield "share of zero", changed("groups.0.shares", [0, ALL])
    yield "share missing", changed("groups.0.shares", [ALL])
    yield "probability rounded up", changed("groups.0.probability", "9472756646864840605")
    yield "probability as a number", changed("groups.0.probability", 9472756646864840604)
    yield "epsilon of zero", changed("epsilon", "0")
    yield "epsilon negative", changed("epsilon", "-1")
    yield "epsilon above 20", changed("epsilon", "21")
    yield "epsilon as a number", changed("epsilon", 2)
    yield "epsilon not plain", changed("epsilon", "2.0")
    yield "groups above epsilon", changed("epsilon", "1.9")
    yield "no groups", changed("groups", [])
    yield "seed too short", changed("seed", "00")
    yield "seed in capitals", changed("seed", "AB" * 32)
    yield "number not whole", changed("users", 1e7)
    yield "parameter not whole", changed("parameters.note", 0.5)
    yield "flips with more than two symbols", changed("groups.0.questions.0.signed", 1)


def bad_manifests() -> Iterator[dict[str, str]]:
    for name, text in bad_texts():
        try:
            Manifest.parse(text)
        except HushcountError as error:
            yield {"name": name, "manifest": text, "error": str(error)}
        else:
            raise AssertionError(f"{name} is not refused")


def nonces(count: int) -> list[bytes]:
    return [bytes(8), b"\xff" * 8, *(blake2s(b"nonce %d" % number).digest()[:8] for number in range(count))]


def questions() -> list[dict[str, Any]]:
    """What nonces are asked, and the truthful answers."""
    rows = []
    for name, manifest in manifests().items():
        items = ITEMS[encoding_name(manifest)]
        for place, nonce in enumerate(nonces(6)):
            item = items[place % len(items)]
            rows.append(
                {
                    "manifest": name,
                    "nonce": nonce.hex(),
                    "item": plain(item),
                    "groups": [
                        answer(manifest, nonce, number, item) for number in range(len(manifest.groups))
                    ],
                }
            )
    return rows


def answer(manifest: Manifest, nonce: bytes, number: int, item: object) -> dict[str, Any]:
    ask = assigned(manifest, nonce, number)
    row = {**ask._asdict(), "masks": list(ask.masks), "words": list(manifest.public.words(nonce, number))}
    value = manifest.encoding.encode(item)
    if value is None:
        return {**row, "cell": None, "flip": None, "symbol": None}
    place = QuestionPlace(manifest.public, manifest.encoding.width, number, ask.question, ask.row, ask.extra)
    cell, flip = manifest.groups[number].questions[ask.question].cell(value, place)
    return {**row, "cell": cell, "flip": flip, "symbol": truthful(manifest, value, number, ask)}


def hashes() -> list[dict[str, Any]]:
    public = PublicRandomness(seed("hashes"))
    shapes = [(1, 1), (30, 18), (32, 32), (33, 20), (64, 12), (108, 32), (360, 1)]
    purposes = [(CELL, (0, 1, 15)), (SIGN, (1, 0, 284)), (BUCKET, (0, SHARED, 65535))]
    return [
        {
            "seed": public.seed.hex(),
            "purpose": purpose.decode(),
            "group": where[0],
            "question": where[1],
            "row": where[2],
            "value_bits": shape[0],
            "bits": shape[1],
            "value": str((1 << shape[0]) - 1),
            "constants": [f"{c:016x}" for c in public.constants(purpose, where, 1 + -(-shape[0] // 32))],
            "hash": public.hash(purpose, where, (1 << shape[0]) - 1, shape),
        }
        for purpose, where in purposes
        for shape in shapes
    ]


def probabilities() -> list[dict[str, Any]]:
    return [
        {"epsilon": epsilon, "symbol_bits": bits, "probability": str(response_probability(epsilon, bits))}
        for epsilon in ("0.000000001", "0.1", "0.5", "1", "1.0986122886681098", "2", "4", "20")
        for bits in (1, 2, 3, 4, 5)
    ]


def responses() -> list[dict[str, Any]]:
    """Draws at the edges of the coin, with a missing truth, and with a replacement that starts again."""
    probability = response_probability("2", 3)
    coins = [0, probability - 1, probability, 2**64 - 1]
    tails = ["05ff000000000000", "ff00000000000003", "0a08080808080808" + "1000000000000006"]
    rows = []
    for coin in coins:
        for tail in tails:
            for truth in (None, 0, 6):
                draw = coin.to_bytes(8, "little") + bytes.fromhex(tail)
                symbol = respond(truth, 3, probability, Fixed(draw))
                rows.append(
                    {
                        "truth": truth,
                        "symbol_bits": 3,
                        "probability": str(probability),
                        "random": draw.hex(),
                        "symbol": symbol,
                    }
                )
    return rows


class Fixed:
    """The given bytes, in order."""

    def __init__(self, left: bytes) -> None:
        self.left = left

    def bytes(self, count: int) -> bytes:
        taken, self.left = self.left[:count], self.left[count:]
        assert len(taken) == count
        return taken


def reports() -> list[dict[str, Any]]:
    rows = []
    for name, manifest in manifests().items():
        for place, item in enumerate(ITEMS[encoding_name(manifest)]):
            nonce = nonces(20)[place]
            bits = Recorded(f"{name} {place}")
            report = Client(manifest, nonce, bits=bits).report(item, now=0)
            parts = parse(report, manifest)
            rows.append(
                {
                    "manifest": name,
                    "nonce": nonce.hex(),
                    "item": plain(item),
                    "random": bits.used.hex(),
                    "symbols": list(parts.symbols),
                    "report": report.hex(),
                }
            )
    return rows


def bad_reports() -> Iterator[dict[str, str]]:
    tree, several = manifests()["tree"], manifests()["several"]
    good = Client(tree, bytes(8), bits=Recorded("good")).report("tea", now=0)
    bad = [
        ("empty", b""),
        ("one byte short", good[:-1]),
        ("one byte long", good + b"\x00"),
        ("version 0", b"\x00" + good[1:]),
        ("version 2", b"\x02" + good[1:]),
        ("another campaign", Client(several, bytes(8), bits=Recorded("other")).report(5, now=0)),
        ("one bit of the campaign", good[:8] + bytes([good[8] ^ 1]) + good[9:]),
        ("first symbol out of range", good[:-1] + b"\x08"),
        ("last symbol out of range", good[:-1] + b"\xff"),
    ]
    for name, report in bad:
        try:
            parse(report, tree)
        except HushcountError as error:
            reason = refusal(report, tree)
            yield {
                "name": name,
                "manifest": "tree",
                "report": report.hex(),
                "reason": str(reason),
                "error": str(error),
            }


def documents() -> dict[str, Any]:
    """The files by name."""
    return {
        "ldp_encodings.json": {"encodings": encodings()},
        "ldp_manifests.json": {"good": good_manifests(), "bad": list(bad_manifests())},
        "ldp_questions.json": {"hashes": hashes(), "asked": questions()},
        "ldp_responses.json": {"probabilities": probabilities(), "responses": responses()},
        "ldp_reports.json": {"good": reports(), "bad": list(bad_reports())},
    }


def text(document: Any) -> str:
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


if __name__ == "__main__":
    for file_name, document in documents().items():
        (FOLDER / file_name).write_text(text(document))
