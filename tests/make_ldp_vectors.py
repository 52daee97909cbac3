"""Write tests/vectors/ldp_*.json, with which any client of the local model can be tested.

`python -m tests.make_ldp_vectors` writes them anew; tests/acceptance/test_ldp_vectors.py checks that nothing
changes. The random bytes in them are fixed, so they are no secret and no client may use them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import blake2s, sha256
from pathlib import Path
from typing import Any

from hushcount.errors import HushcountError
from hushcount.ldp.client.client import Client, assigned, truthful
from hushcount.ldp.wire.batch import pack_batch
from hushcount.ldp.wire.encodings import Bytes, Categories, Integers, PackedWords, Words
from hushcount.ldp.wire.groups import Group
from hushcount.ldp.wire.manifest import Manifest, canonical
from hushcount.ldp.wire.public_randomness import BUCKET, CELL, SHARED, SIGN, PublicRandomness
from hushcount.ldp.wire.questions import Chunk, CodeBit, Prefix, QuestionPlace, TaggedPrefix
from hushcount.ldp.wire.report import parse, refusal
from hushcount.ldp.wire.response import respond, response_probability
from hushcount.ldp.wire.terms import NO_TERMS, PROMISE, Terms
from hushcount.ldp.wire.versions import DRAWN, ISSUED, Wire

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
TERMS = {
    "tree": Terms("Tea Board", "Relay of the Press Council", 90, 1000),
    "nine": Terms("Tea Board", "Relay é", 0, 100_000, "0.5", "0.000000001", PROMISE),
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


def manifests(version: int = 1) -> dict[str, Manifest]:
    """The campaigns of the vectors: every kind of encoding and question, one and two groups.

    Version 2 has more: symbols of ten bits, several reports of a user, and terms with a central guarantee.
    """
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
    if version == 2:
        tree_of_nine = Group("6", 9, (Prefix(15, 1, 15), Prefix(30, 16, 18)), (HALF, HALF))
        ten = (Group("7", 10, (Prefix(64, 3, 20),), (ALL,)), Group("2", 6, (Prefix(20, 1, 20),), (ALL,)))
        made += [
            ("nine", "tree_hist", "words", "6", (tree_of_nine,)),
            ("ten", "tree_hist", "integers", "9", ten),
            ("split", "tree_hist", "words", "6", (Group("2", 3, (Prefix(30, 16, 18),), (ALL,)),)),
        ]
    return {
        name: Manifest(
            protocol,
            ENCODINGS[encoding],
            epsilon,
            groups,
            10_000_000,
            EXPIRES,
            {"note": name},
            seed(name),
            reports=3 if name == "split" else 1,
            terms=TERMS.get(name, NO_TERMS) if version == 2 else NO_TERMS,
            version=version,
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


def good_manifests(version: int = 1) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "id": manifest.id,
            "canonical": canonical(manifest.to_dict()).decode(),
            "manifest": manifest.to_json(),
        }
        for name, manifest in manifests(version).items()
    ]


def signed(fields: dict[str, Any]) -> str:
    """A manifest whose id fits, whatever its fields."""
    return canonical({**fields, "id": sha256(canonical(fields)).hexdigest()}).decode()


def changed(path: str, value: object, name: str = "tree", version: int = 1) -> str:
    """A manifest with the field at a dotted path replaced, and the id made to fit."""
    fields = json.loads(canonical(manifests(version)[name].to_dict()))
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
    yield "unknown version", changed("version", 3)
    yield "version of the next wire", changed("version", 2)
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


def bad_new_texts() -> Iterator[tuple[str, str]]:
    """What only version 2 can get wrong."""

    def wrong(path: str, value: object, name: str = "nine") -> str:
        return changed(path, value, name, 2)

    yield "version of the wire before", wrong("version", 1)
    yield "version as text", wrong("version", "2")
    yield "symbol of eleven bits", wrong("groups.0.symbol_bits", 11)
    yield "probability rounded up", wrong("groups.0.probability", "8116567392432202712")
    yield "no reports", wrong("reports", 0)
    yield "too many reports", wrong("reports", 17)
    yield "reports above epsilon", wrong("reports", 4, "split")
    yield "terms missing", wrong("terms", None)
    yield "unknown term", wrong("terms.colour", "blue")
    yield "collector not text", wrong("terms.collector", 5)
    yield "negative retention", wrong("terms.retention_days", -1)
    yield "batch of none", wrong("terms.min_batch", 0)
    yield "central guarantee without a relay", wrong("terms.relay", "")
    yield "central guarantee without a promise", wrong("terms.promise", "")
    yield "central guarantee without a batch", wrong("terms.min_batch", 1)
    yield "central guarantee without delta", wrong("terms.central_delta", "")
    yield "central delta with exponent", wrong("terms.central_delta", "1e-9")
    yield "central epsilon not plain", wrong("terms.central_epsilon", ".5")
    yield "central guarantee for several reports", wrong("reports", 2)


def bad_manifests(texts: Iterator[tuple[str, str]]) -> Iterator[dict[str, str]]:
    for name, text in texts:
        try:
            Manifest.parse(text)
        except HushcountError as error:
            yield {"name": name, "manifest": text, "error": str(error)}
        else:
            raise AssertionError(f"{name} is not refused")


def nonces(count: int, size: int = 8) -> list[bytes]:
    drawn = (blake2s(b"nonce %d" % number).digest()[:size] for number in range(count))
    return [bytes(size), b"\xff" * size, *drawn]


def questions(version: int = 1) -> list[dict[str, Any]]:
    """What nonces are asked, and the truthful answers."""
    rows = []
    for name, manifest in manifests(version).items():
        items = ITEMS[encoding_name(manifest)]
        for place, nonce in enumerate(nonces(6, manifest.wire.nonce_bytes)):
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


def words_of(manifest: Manifest, nonce: bytes, number: int) -> list[int]:
    return list(manifest.public.words(nonce, number, manifest.wire))


def answer(manifest: Manifest, nonce: bytes, number: int, item: object) -> dict[str, Any]:
    ask = assigned(manifest, nonce, number)
    row = {**ask._asdict(), "masks": list(ask.masks), "words": words_of(manifest, nonce, number)}
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


def probabilities(sizes: Iterable[int] = (1, 2, 3, 4, 5)) -> list[dict[str, Any]]:
    return [
        {"epsilon": epsilon, "symbol_bits": bits, "probability": str(response_probability(epsilon, bits))}
        for epsilon in ("0.000000001", "0.1", "0.5", "1", "1.0986122886681098", "2", "4", "20")
        for bits in sizes
    ]


TAILS = ("05ff000000000000", "ff00000000000003", "0a08080808080808" + "1000000000000006")
WIDE_TAILS = (
    "0502ff03000000000000000000000000",
    "ffff0000000000000000000000000003",
    "0a00" + "00fc" * 7 + "0000" * 7 + "0602",
)


def responses(bits: int = 3, tails: Iterable[str] = TAILS, wire: Wire = ISSUED) -> list[dict[str, Any]]:
    """Draws at the edges of the coin, with a missing truth, and with a replacement that starts again."""
    probability = response_probability("2", bits)
    coins = [0, probability - 1, probability, 2**64 - 1]
    rows = []
    for coin in coins:
        for tail in tails:
            for truth in (None, 0, 6):
                draw = coin.to_bytes(8, "little") + bytes.fromhex(tail)
                symbol = respond(truth, bits, probability, Fixed(draw), wire)
                rows.append(
                    {
                        "truth": truth,
                        "symbol_bits": bits,
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


def reports(version: int = 1) -> list[dict[str, Any]]:
    rows = []
    for name, manifest in manifests(version).items():
        for place, item in enumerate(ITEMS[encoding_name(manifest)]):
            nonce = b"".join(nonces(60, manifest.wire.nonce_bytes)[place::20][: manifest.reports])
            bits = Recorded(f"{name} {place}")
            report = Client(manifest, nonce, bits=bits).report(item, now=0)
            size = manifest.wire.report_bytes
            parts = [parse(report[start : start + size], manifest) for start in range(0, len(report), size)]
            rows.append(
                {
                    "manifest": name,
                    "nonce": nonce.hex(),
                    "item": plain(item),
                    "random": bits.used.hex(),
                    "symbols": [symbol for part in parts for symbol in part.symbols],
                    "report": report.hex(),
                }
            )
    return rows


def bad_reports(version: int = 1) -> Iterator[dict[str, str]]:
    tree, several = manifests(version)["tree"], manifests(version)["several"]
    good = Client(tree, 0, bits=Recorded("good")).report("tea", now=0)
    wide = tree.wire.symbol_bytes == 2
    bad = [
        ("empty", b""),
        ("one byte short", good[:-1]),
        ("one byte long", good + b"\x00"),
        ("version 0", b"\x00" + good[1:]),
        (f"version {3 - version}", bytes([3 - version]) + good[1:]),
        ("another campaign", Client(several, 0, bits=Recorded("other")).report(5, now=0)),
        ("one bit of the campaign", good[:8] + bytes([good[8] ^ 1]) + good[9:]),
        ("first symbol out of range", good[:-2] + b"\x08\x00" if wide else good[:-1] + b"\x08"),
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
        "ldp_manifests.json": {"good": good_manifests(), "bad": list(bad_manifests(bad_texts()))},
        "ldp_questions.json": {"hashes": hashes(), "asked": questions()},
        "ldp_responses.json": {"probabilities": probabilities(), "responses": responses()},
        "ldp_reports.json": {"good": reports(), "bad": list(bad_reports())},
        "ldp_2_manifests.json": {"good": good_manifests(2), "bad": list(bad_manifests(bad_new_texts()))},
        "ldp_2_questions.json": {"asked": questions(2)},
        "ldp_2_responses.json": {
            "probabilities": probabilities(range(6, 11)),
            "responses": responses(10, WIDE_TAILS, DRAWN),
        },
        "ldp_2_reports.json": {"good": reports(2), "bad": list(bad_reports(2)), "batches": batches()},
    }


def batches() -> dict[str, Any]:
    """Batches of a relay, good and torn."""
    tree = manifests(2)["tree"]
    drawn = sorted(nonces(6, 16))
    made = [Client(tree, nonce, bits=Recorded(nonce.hex())).report("tea", now=0) for nonce in drawn]
    good = pack_batch(made)
    bad = [
        ("empty", b""),
        ("another name", b"HCB1" + good[4:]),
        ("cut short", good[:-1]),
        ("a report missing", good[:-35] + good[-8:]),
        ("one bit", good[:50] + bytes([good[50] ^ 1]) + good[51:]),
        ("more after it", good + b"\x00"),
        ("another count", good[:4] + b"\x07" + good[5:]),
    ]
    return {
        "good": [{"batch": good.hex(), "reports": [report.hex() for report in made]}],
        "bad": [{"name": name, "batch": batch.hex()} for name, batch in bad],
    }


def text(document: Any) -> str:
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


if __name__ == "__main__":
    for file_name, document in documents().items():
        (FOLDER / file_name).write_text(text(document))
