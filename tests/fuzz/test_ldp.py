"""Manifests and reports from strangers: whatever they hold, they are read or refused in one sentence."""

import io
import json
import random
from hashlib import sha256

import pytest

from hushcount import ldp
from hushcount.errors import HushcountError
from hushcount.ldp import registry
from hushcount.ldp.server.decoding import check_work
from hushcount.ldp.wire.manifest import Manifest, canonical
from hushcount.ldp.wire.report import parse

NEVER = 253_402_300_799
ENCODINGS = (ldp.Words("abc", 4), ldp.Bytes(3), ldp.Integers(40), ldp.Categories(("tea", "milk", "salt")))
ODD = (
    None, True, False, 0, 1, -1, 5, 20, 64, 1 << 31, 1 << 53, 1 << 70, 1.5, 1e400, "", "0", "1", "2", "-1",
    "1e3", "\ud800", "\x1b[2J", "x" * 2000, "ab" * 32, [], [0], [1 << 32], {},
    {"kind": "prefix"}, {"kind": "words"},
)  # fmt: skip


def manifests():
    """A campaign of each protocol, as the fields of its manifest."""
    for name in registry.CAMPAIGNS:
        for encoding in ENCODINGS:
            if name == "explicit_hist" and encoding.width > 24:
                continue
            made = registry.CAMPAIGNS[name](encoding, epsilon=2.0, users=1000, expires=NEVER)
            yield made.manifest.to_dict()


def places(value, path=()):
    """The path of everything in a JSON value."""
    yield path
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for name, child in list(children)[:12]:
        yield from places(child, (*path, name))


def changed(fields, generator):
    """The fields with one place replaced, removed, doubled or added to."""
    forged = json.loads(json.dumps(fields))
    path = generator.choice([path for path in places(forged) if path])
    parent = forged
    for name in path[:-1]:
        parent = parent[name]
    kind = generator.random()
    if kind < 0.7:
        parent[path[-1]] = generator.choice(ODD)
    elif kind < 0.8:
        del parent[path[-1]]
    elif isinstance(parent, list):
        parent.append(parent[path[-1]])
    else:
        parent[generator.choice(["more", "signed", "truncate", "version"])] = generator.choice(ODD)
    return forged


def signed(fields):
    """The text of a manifest whose id matches; None if it cannot be written."""
    try:
        return canonical({**fields, "id": sha256(canonical(fields)).hexdigest()})
    except (UnicodeEncodeError, ValueError):
        return None


@pytest.mark.parametrize("seed", range(4))
def test_forged_manifests(seed):
    """With a right id, so that every check behind it is reached."""
    generator = random.Random(seed)
    originals = list(manifests())
    read, refused = 0, []
    for _ in range(1500):
        fields = generator.choice(originals)
        for _ in range(generator.choice([1, 1, 2])):
            fields = changed(fields, generator)
        text = signed(fields)
        if text is None:
            continue
        try:
            manifest = Manifest.parse(text)
            check_work(manifest)
            ldp.Client(manifest, generator.randrange(1 << 64)).report("abc", now=0)
            read += 1
        except HushcountError as error:
            refused.append(str(error))
    assert read > 20
    assert len(refused) > 500
    assert not [text for text in refused if len(text.splitlines()) != 1 or "\x1b" in text]


def test_damaged_manifests():
    generator = random.Random(9)
    text = next(iter(manifests()))
    good = signed(text)
    assert Manifest.parse(good).protocol == "tree_hist"
    for _ in range(2000):
        data = bytearray(good)
        place = generator.randrange(len(data))
        if generator.random() < 0.5:
            data[place] ^= 1 << generator.randrange(8)
        else:
            del data[place : place + generator.randrange(1, 30)]
        with pytest.raises(HushcountError):
            Manifest.parse(bytes(data))


@pytest.mark.parametrize("form", ["packed", "hex"])
@pytest.mark.parametrize("seed", range(3))
def test_files_of_anything(form, seed):
    """Every byte is accounted for: read, or refused for a reason; nothing is counted that was not sent."""
    generator = random.Random(seed)
    manifest = ldp.TreeHist(ldp.Words("abc", 4), epsilon=2.0, users=1000, expires=NEVER).manifest
    good = [ldp.Client(manifest, nonce).report("ab") for nonce in range(60)]
    for _ in range(60):
        pieces = [generator.choice(good) for _ in range(generator.randrange(30))]
        for _ in range(generator.randrange(6)):
            noise = generator.randbytes(generator.choice([0, 1, 9, 17, 18, 19, 36, 500]))
            front = generator.choice([b"", good[0][:9], good[0][:5]])
            pieces.insert(generator.randrange(len(pieces) + 1), front + noise)
        data = b"".join(pieces) if form == "packed" else b"\n".join(piece.hex().encode() for piece in pieces)
        aggregator = ldp.Aggregator(manifest).read(io.BytesIO(data), form)
        whole = len({piece for piece in pieces if piece in good})
        assert whole - 12 <= aggregator.reports <= len(pieces)
        assert sum(aggregator.refused.values()) <= len(data)


def test_single_reports_of_anything():
    generator = random.Random(1)
    manifest = ldp.Bitstogram(ldp.Integers(30), epsilon=2.0, users=1000, expires=NEVER).manifest
    good = ldp.Client(manifest, 7).report(5)
    assert parse(good, manifest).nonce == good[9:25]
    for _ in range(3000):
        data = bytearray(good)
        data[generator.randrange(27)] = generator.randrange(256)
        data = data[: generator.choice([27, 27, 27, 26, 0])] + generator.randbytes(
            generator.choice([0, 0, 0, 1])
        )
        aggregator = ldp.Aggregator(manifest).add([bytes(data)])
        try:
            parse(bytes(data), manifest)
            assert aggregator.reports == 1
        except HushcountError:
            assert (aggregator.reports, sum(aggregator.refused.values())) == (0, 1)
