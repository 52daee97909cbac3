"""The vectors that any client can be tested with: unchanged, and met by a second client."""

import json
from hashlib import sha256

import pytest
from tests import ldp_reference as reference
from tests.make_ldp_vectors import FOLDER, documents, text

from hushcount.errors import ReportError
from hushcount.ldp.wire import encodings, questions
from hushcount.ldp.wire.batch import unpack_batch


def vectors(name):
    return json.loads((FOLDER / f"ldp_{name}.json").read_text())


FIRST, SECOND = "", "2_"
MANIFESTS = {
    version: {row["name"]: row["manifest"] for row in vectors(f"{version}manifests")["good"]}
    for version in (FIRST, SECOND)
}
EVERY = pytest.mark.parametrize("version", [FIRST, SECOND], ids=["version 1", "version 2"])


def item_of(plain):
    if isinstance(plain, dict):
        return bytes.fromhex(plain["hex"]) if "hex" in plain else int(plain["integer"])
    return plain


@pytest.mark.parametrize("name", sorted(name[4:-5] for name in documents()))
def test_making_them_anew_changes_nothing(name):
    assert text(documents()[f"ldp_{name}.json"]) == (FOLDER / f"ldp_{name}.json").read_text()


def test_there_are_no_others():
    assert {path.name for path in FOLDER.glob("ldp_*.json")} == set(documents())


@EVERY
def test_every_kind_of_encoding_and_question_is_in_them(version):
    fields = [json.loads(manifest) for manifest in MANIFESTS[version].values()]
    assert {manifest["encoding"]["kind"] for manifest in fields} == set(encodings.KINDS)
    asked = [
        question for manifest in fields for group in manifest["groups"] for question in group["questions"]
    ]
    assert {question["kind"] for question in asked} == set(questions.KINDS)


def test_encodings():
    for row in vectors("encodings")["encodings"]:
        assert reference.width(row["encoding"]) == row["width"]
        for case in row["items"]:
            value = reference.encode(row["encoding"], item_of(case["item"]))
            assert case["value"] == (None if value is None else str(value))


@EVERY
def test_manifests(version):
    for row in vectors(f"{version}manifests")["good"]:
        fields = json.loads(row["manifest"])
        assert reference.campaign_id(row["manifest"]) == row["id"] == fields.pop("id")
        assert reference.canonical(fields).decode() == row["canonical"]


def test_hashes():
    for row in vectors("questions")["hashes"]:
        seed, where = bytes.fromhex(row["seed"]), (row["group"], row["question"], row["row"])
        constants = reference.constants(seed, row["purpose"], where, 1 + (row["value_bits"] + 31) // 32)
        assert [f"{constant:016x}" for constant in constants] == row["constants"]
        shape = (row["value_bits"], row["bits"])
        assert reference.hashed(seed, row["purpose"], where, int(row["value"]), shape) == row["hash"]


@EVERY
def test_questions(version):
    for row in vectors(f"{version}questions")["asked"]:
        manifest = json.loads(MANIFESTS[version][row["manifest"]])
        value = reference.encode(manifest["encoding"], item_of(row["item"]))
        for place, group in enumerate(row["groups"]):
            asked = reference.Asked(manifest, bytes.fromhex(row["nonce"]), place)
            found = {name: getattr(asked, name) for name in ("words", "question", "row", "masks", "extra")}
            cell, flip = (None, None) if value is None else asked.cell(value)
            found |= {"cell": cell, "flip": flip, "symbol": None if value is None else asked.symbol(value)}
            assert found == group


@EVERY
def test_probabilities(version):
    for row in vectors(f"{version}responses")["probabilities"]:
        assert str(reference.probability(row["epsilon"], row["symbol_bits"])) == row["probability"]


@EVERY
def test_responses(version):
    for row in vectors(f"{version}responses")["responses"]:
        random = bytearray.fromhex(row["random"])
        chance, bits = int(row["probability"]), row["symbol_bits"]
        assert reference.respond(row["truth"], bits, chance, random, 1 + bool(version)) == row["symbol"]


@EVERY
def test_reports(version):
    for row in vectors(f"{version}reports")["good"]:
        random = bytearray.fromhex(row["random"])
        nonce = bytes.fromhex(row["nonce"])
        report = reference.report(MANIFESTS[version][row["manifest"]], nonce, item_of(row["item"]), random)
        assert report.hex() == row["report"]
        assert not random  # exactly the bytes of the vector


BAD = [(version, bad) for version in (FIRST, SECOND) for bad in vectors(f"{version}reports")["bad"]]


@pytest.mark.parametrize(("version", "bad"), BAD, ids=[f"{version}{bad['name']}" for version, bad in BAD])
def test_bad_reports_fail_the_first_rule_that_they_break(version, bad):
    manifest = json.loads(MANIFESTS[version][bad["manifest"]])
    number = manifest["version"]
    report = bytes.fromhex(bad["report"])
    bits = sum(group["symbol_bits"] for group in manifest["groups"])
    rules = {
        "length": len(report) == 9 * (number + 1),
        "version": report[:1] == bytes([number]),
        "campaign": report[1:9].hex() == manifest["id"][:16],
        "symbol": int.from_bytes(report[-number:], "little") < 2**bits,
    }
    assert next(name for name, kept in rules.items() if not kept) == bad["reason"]


def test_batches():
    for row in vectors("2_reports")["batches"]["good"]:
        reports = b"".join(map(bytes.fromhex, row["reports"]))
        body = b"HCB2" + len(row["reports"]).to_bytes(4, "little") + reports
        assert bytes.fromhex(row["batch"]) == body + sha256(body).digest()[:8]


@pytest.mark.parametrize("bad", vectors("2_reports")["batches"]["bad"], ids=lambda bad: bad["name"])
def test_bad_batches_are_refused_whole(bad):
    with pytest.raises(ReportError):
        unpack_batch(bytes.fromhex(bad["batch"]))
