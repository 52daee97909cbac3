"""The vectors that any client can be tested with: unchanged, and met by a second client."""

import json

import pytest
from tests import ldp_reference as reference
from tests.make_ldp_vectors import FOLDER, documents, text

from hushcount.ldp.wire import encodings, questions


def vectors(name):
    return json.loads((FOLDER / f"ldp_{name}.json").read_text())


MANIFESTS = {row["name"]: row["manifest"] for row in vectors("manifests")["good"]}


def item_of(plain):
    if isinstance(plain, dict):
        return bytes.fromhex(plain["hex"]) if "hex" in plain else int(plain["integer"])
    return plain


@pytest.mark.parametrize("name", ["encodings", "manifests", "questions", "responses", "reports"])
def test_making_them_anew_changes_nothing(name):
    assert text(documents()[f"ldp_{name}.json"]) == (FOLDER / f"ldp_{name}.json").read_text()


def test_there_are_no_others():
    assert {path.name for path in FOLDER.glob("ldp_*.json")} == set(documents())


def test_every_kind_of_encoding_and_question_is_in_them():
    fields = [json.loads(manifest) for manifest in MANIFESTS.values()]
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


def test_manifests():
    for row in vectors("manifests")["good"]:
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


def test_questions():
    for row in vectors("questions")["asked"]:
        manifest = json.loads(MANIFESTS[row["manifest"]])
        value = reference.encode(manifest["encoding"], item_of(row["item"]))
        for place, group in enumerate(row["groups"]):
            asked = reference.Asked(manifest, bytes.fromhex(row["nonce"]), place)
            found = {name: getattr(asked, name) for name in ("words", "question", "row", "masks", "extra")}
            cell, flip = (None, None) if value is None else asked.cell(value)
            found |= {"cell": cell, "flip": flip, "symbol": None if value is None else asked.symbol(value)}
            assert found == group


def test_probabilities():
    for row in vectors("responses")["probabilities"]:
        assert str(reference.probability(row["epsilon"], row["symbol_bits"])) == row["probability"]


def test_responses():
    for row in vectors("responses")["responses"]:
        random = bytearray.fromhex(row["random"])
        chance = int(row["probability"])
        assert reference.respond(row["truth"], row["symbol_bits"], chance, random) == row["symbol"]


def test_reports():
    for row in vectors("reports")["good"]:
        random = bytearray.fromhex(row["random"])
        nonce = bytes.fromhex(row["nonce"])
        report = reference.report(MANIFESTS[row["manifest"]], nonce, item_of(row["item"]), random)
        assert report.hex() == row["report"]
        assert not random  # exactly the bytes of the vector


@pytest.mark.parametrize("bad", vectors("reports")["bad"], ids=lambda bad: bad["name"])
def test_bad_reports_fail_the_first_rule_that_they_break(bad):
    manifest = json.loads(MANIFESTS[bad["manifest"]])
    report = bytes.fromhex(bad["report"])
    rules = {
        "length": len(report) == 18,
        "version": report[:1] == b"\x01",
        "campaign": report[1:9].hex() == manifest["id"][:16],
        "symbol": report[17:] < bytes([2 ** sum(group["symbol_bits"] for group in manifest["groups"])]),
    }
    assert next(name for name, kept in rules.items() if not kept) == bad["reason"]
