"""Manifests: canonical, named by their hash, refused when edited or against a rule."""

import json
import pickle

import numpy as np
import pytest
from tests.make_ldp_vectors import FOLDER, manifests, signed

from hushcount.errors import DataError, ManifestError, ParameterError
from hushcount.ldp.wire.encodings import Integers
from hushcount.ldp.wire.groups import Group
from hushcount.ldp.wire.manifest import Manifest, canonical
from hushcount.ldp.wire.questions import CodeBit, Prefix
from hushcount.ldp.wire.terms import PROMISE, Terms

ALL = 1 << 32
GROUP = Group("2", 3, (Prefix(8, 1, 8),), (ALL,))
VECTORS = json.loads((FOLDER / "ldp_manifests.json").read_text())
EPSILON = "epsilon must be a plain decimal above 0 and at most 20 with at most 18 places, got -2."


CENTRAL = Terms("", "a relay", 30, 1000, "0.5", "0.001", PROMISE)


def manifest(**fields):
    base = {
        "protocol": "tree_hist",
        "encoding": Integers(8),
        "epsilon": "2",
        "groups": (GROUP,),
        "users": 1000,
    }
    return Manifest(**{**base, "expires": 2_000_000_000, **fields})


@pytest.mark.parametrize("name", list(manifests()))
def test_it_comes_back(name):
    made = manifests()[name]
    again = Manifest.parse(made.to_json())
    assert again == made
    assert again.id == made.id == VECTORS["good"][list(manifests()).index(name)]["id"]
    assert hash(again) == hash(made)
    assert pickle.loads(pickle.dumps(made)) == made
    assert Manifest.parse(made.to_json().encode()) == made
    assert Manifest.parse(json.dumps(json.loads(made.to_json()), indent=2)) == made


def test_files(tmp_path):
    made = manifest()
    made.save(tmp_path / "campaign.json")
    assert Manifest.load(tmp_path / "campaign.json") == made
    with pytest.raises(DataError) as error:
        Manifest.load(tmp_path / "none.json")
    assert str(error.value) == f"Cannot read {tmp_path / 'none.json'}: no such file or directory."


def test_every_manifest_has_a_seed_of_its_own():
    assert len({manifest().id for _ in range(20)}) == 20
    assert manifest(seed=bytes(32)).id == manifest(seed=bytes(32)).id


def test_every_field_counts_for_the_id():
    other = Group("2", 2, (Prefix(8, 1, 8),), (ALL,))
    changed = [
        {},
        {"protocol": "bitstogram"},
        {"encoding": Integers(9)},
        {"epsilon": "2.5"},
        {"groups": (other,)},
        {"users": 1001},
        {"expires": 2_000_000_001},
        {"parameters": {"threshold": 5}},
        {"seed": bytes(31) + b"\x01"},
    ]
    assert len({manifest(**{"seed": bytes(32), **fields}).id for fields in changed}) == len(changed)


@pytest.mark.parametrize("bad", VECTORS["bad"], ids=lambda bad: bad["name"])
def test_bad_ones_are_refused(bad):
    with pytest.raises(ManifestError) as error:
        Manifest.parse(bad["manifest"])
    assert str(error.value) == bad["error"]


@pytest.mark.parametrize(
    "text",
    ["", "{", "nul", '"x"', "[" * 100_000, "1" * 5000, '{"a":"\\ud800"}', b"\xff\xfe\x00"]
    + [manifests()["tree"].to_json().encode(form) for form in ("utf-16", "utf-32", "utf-8-sig")],
)
def test_what_is_no_object_is_refused(text):
    with pytest.raises(ManifestError) as error:
        Manifest.parse(text)
    assert str(error.value) == "the manifest must be one JSON object."


@pytest.mark.parametrize(
    ("path", "value"),
    [("columns", ["0x1", "2"]), ("columns", ["01", "2"]), ("columns", ["A", "2"]), ("columns", [" 1", "2"])],
)
def test_a_value_has_one_form_only(path, value):
    made = manifest(groups=(Group("2", 1, (CodeBit(4, (1, 2)),), (ALL,)),), protocol="bitstogram_binary")
    fields = json.loads(canonical(made.to_dict()))
    fields["groups"][0]["questions"][0][path] = value
    with pytest.raises(ManifestError) as error:
        Manifest.parse(signed(fields))
    assert str(error.value) == "the manifest must hold every value in its one canonical form."


def test_a_flag_is_no_fraction():
    fields = json.loads(canonical(manifests()["tree"].to_dict()))
    fields["encoding"]["truncate"] = 0.0
    with pytest.raises(ManifestError):
        Manifest.parse(signed(fields))


def test_whole_numbers_of_other_libraries_are_numbers():
    assert manifest(users=np.int64(7)).users == 7
    assert json.loads(manifest(users=np.int64(7), expires=np.int64(9)).to_json())["expires"] == 9


def test_a_default_may_not_be_left_out():
    fields = json.loads(canonical(manifest().to_dict()))
    del fields["groups"][0]["questions"][0]["signed"]
    with pytest.raises(ManifestError, match="one canonical form"):
        Manifest.parse(signed(fields))


def test_expiry():
    made = manifest(expires=1_000_000_000)
    made.refuse_expired(999_999_999.9)
    for now in (1_000_000_000, 1e12):
        with pytest.raises(ManifestError) as error:
            made.refuse_expired(now)
        assert str(error.value) == "the campaign expired at 2001-09-09T01:46:40Z."
    with pytest.raises(ManifestError):
        made.refuse_expired()  # by the clock


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"users": 0}, "users must be at least 1, got 0."),
        ({"users": 2**53}, "users must be at most 9007199254740991, got 9007199254740992."),
        ({"users": True}, "users must be a whole number, got True."),
        ({"expires": 0}, "expires must be at least 1, got 0."),
        ({"expires": 10**12}, "expires must be at most 253402300799, got 1000000000000."),
        ({"expires": 1e9}, "expires must be a whole number, got 1000000000.0."),
        ({"seed": bytes(31)}, "seed must be 32 bytes."),
        ({"seed": "0" * 32}, "seed must be 32 bytes."),
        ({"groups": ()}, "the number of groups must be at least 1, got 0."),
        (
            {"groups": (Group("0.1", 1, GROUP.questions, (ALL,)),) * 5},
            "the number of groups must be at most 4, got 5.",
        ),
        ({"groups": (GROUP, GROUP)}, "the epsilons of the groups must sum to at most 2."),
        (
            {"groups": (GROUP,) * 3, "epsilon": "6", "version": 1},
            "the symbols of all groups must fit into 8 bits, got 9.",
        ),
        (
            {"groups": (Group("2", 9, GROUP.questions, (ALL,)),) * 2, "epsilon": "6"},
            "the symbols of all groups must fit into 16 bits, got 18.",
        ),
        (
            {"groups": (Group("2", 6, GROUP.questions, (ALL,)),), "version": 1},
            "symbol_bits must be at most 5 in version 1.",
        ),
        ({"version": 3}, "version must be one of 1, 2, got 3."),
        ({"version": True}, "version must be one of 1, 2, got True."),
        ({"reports": 0}, "reports must be at least 1, got 0."),
        ({"reports": 17}, "reports must be at most 16, got 17."),
        ({"reports": 2}, "the epsilons of the groups must sum to at most 2 / 2 reports."),
        ({"terms": Terms("me"), "version": 1}, "version 1 has one report per user and no terms."),
        (
            {"groups": (GROUP, GROUP), "epsilon": "4", "terms": CENTRAL},
            "a central guarantee is proved for one group and one report per user; leave it out, or use a"
            " protocol that asks once, such as tree_hist.",
        ),
        ({"encoding": Integers(7)}, "items of 7 bits are too short for one of the questions."),
        ({"parameters": {"Tau": 1}}, "a name of the parameters must be lower-case letters, digits and _."),
        ({"parameters": {"tau": 2**53}}, "tau must be at most 9007199254740991, got 9007199254740992."),
        ({"parameters": {"tau": True}}, "tau must be a whole number, got True."),
        ({"parameters": {"tau": 1.5}}, "tau must be text without halves of surrogate pairs."),
        (
            {"epsilon": "-2"},
            EPSILON,
        ),
        ({"epsilon": "nan"}, EPSILON.replace("-2", "nan")),
        ({"epsilon": 0}, "epsilon must be a finite number above 0, got 0."),
        ({"epsilon": float("nan")}, "epsilon must be a finite number above 0, got nan."),
        ({"epsilon": 21.0}, "epsilon above 20 protects nobody, got 21.0."),
    ],
)
def test_bad_parameters(fields, text):
    with pytest.raises(ParameterError) as error:
        manifest(**fields)
    assert str(error.value) == text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("2", 0, GROUP.questions, (ALL,)), "symbol_bits must be at least 1, got 0."),
        (("2", 11, GROUP.questions, (ALL,)), "symbol_bits must be at most 10, got 11."),
        (("2", 3, GROUP.questions, (ALL - 1,)), "shares must be one for each question and sum to 2^32."),
        (("2", 3, GROUP.questions, (1, ALL - 1)), "shares must be one for each question and sum to 2^32."),
        (("2", 3, (), ()), "the number of questions must be at least 1, got 0."),
        (
            ("2", 3, GROUP.questions * 4097, (1,) * 4097),
            "the number of questions must be at most 4096, got 4097.",
        ),
        (("2", 3, GROUP.questions * 2, (0, ALL)), "a share must be at least 1, got 0."),
        (("2", 3, GROUP.questions * 2, (0.5, 0.5)), "a share must be a whole number, got 0.5."),
        (("2", 2, (CodeBit(4, (1, 2)),), (ALL,)), "questions with flips need symbol_bits = 1, got 2."),
        (("0", 2, GROUP.questions, (ALL,)), EPSILON.replace("-2", "0")),
    ],
)
def test_bad_groups(arguments, text):
    with pytest.raises(ParameterError) as error:
        Group(*arguments)
    assert str(error.value) == text


def test_the_parameters_cannot_be_changed_afterwards():
    parameters = {"tau": 1}
    made = manifest(parameters=parameters)
    parameters["tau"] = 2
    assert made.parameters == {"tau": 1}
    with pytest.raises(TypeError):
        made.parameters["tau"] = 3
