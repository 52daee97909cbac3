"""What a release states follows from its public numbers; every change is noticed, or listed here."""

import json

import pytest
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.made import KEYS, MAKERS, made

import hushcount as hc
from hushcount.ldp.registry import CAMPAIGNS
from hushcount.mechanisms.registry import EVERY_MECHANISM
from hushcount.releases.oracle import Oracle
from hushcount.releases.stored.exact import canonical, digest
from hushcount.releases.stored.signatures import signed

# Forged with a digest of its own, a change of these is not noticed, as nothing in a file depends on them:
# words about the run, options that no number follows from, sizes of sketches that only bound the error if
# max_events is stated, further assumptions, and whether rows were cut. Noisy values, changed everywhere at
# once, cannot be told from other noise. A signature covers all of it.
FREE = {
    "made.id",
    "made.time",
    "made.version",
    "made.options.counters",
    "made.options.limit",
    "made.options.method",
    "made.options.on_bad",
    "made.recipe.levels.#.candidates",
    "made.recipe.levels.#.parts",
    "made.recipe.max_events",
    "made.recipe.parts",
    "made.recipe.shards.#.candidates",
    "made.recipe.shards.#.parts",
    "notes.#",
    "guarantee.assumptions.#",
    "whole",
    "cells.#",
}
# The noise of a local campaign is the clients' own: what was estimated from their reports, and the threshold
# that was asked for, do not follow from the manifest.
LOCAL = {
    "error.error.asked",
    "error.error.rows",
    "error.error.collisions",
    "error.error.inverse_share",
    "error.error.stretch",
    "floor",
}
# Numbers that the error of one mechanism does not depend on.
MORE = {
    "public-floor": {"made.recipe.candidates"},
    "sample, users": {"noun"},
    "users, geometric": {"made.recipe.rows"},
    "users, at least": {"made.recipe.rows"},
    "noisy-cells, Laplace": {"made.recipe.delta"},
    "sample-keys": {"made.recipe.tokens", "keys.values.#"},
    "sized-sample, users": {"made.recipe.tokens", "keys.values.#"},
    "keys-events": {"made.recipe.tokens", "keys.values.#"},
    "measured-envelope": {"error.measured.#"},  # read off noisy rows, which the file does not hold
}
PARTY = {"counted", "noun", *FREE}


def leaves(value, path=()):
    """Yield the path of every value, of lists the first and the last."""
    if isinstance(value, dict):
        for name in value:
            yield from leaves(value[name], (*path, name))
    elif isinstance(value, list) and value:
        for place in sorted({0, len(value) - 1}):
            yield from leaves(value[place], (*path, place))
    else:
        yield path, value


def other(value):
    """Return another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if value is None or isinstance(value, list | dict):
        return 1 if value is None else [1]
    try:
        return repr(float(value) * 2 + (value == "0")).removesuffix(".0")
    except ValueError:
        return value + "x"


def changed(values, path, value):
    copy = json.loads(json.dumps(values))
    place = copy
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return copy


def forged(values):
    return canonical(values | {"digest": digest(values)})


def name_of(path):
    return ".".join("#" if isinstance(step, int) else step for step in path)


def allowed(name, path):
    named = name_of(path)
    if name == "sum" and named.startswith("error.parties.#."):
        return named.removeprefix("error.parties.#.") in PARTY
    return named in FREE | MORE.get(name, set()) or (name.startswith("local") and named in LOCAL)


@pytest.mark.parametrize("name", MAKERS)
def test_every_release_follows_from_its_public_numbers(name):
    found = hc.verify(made(name).to_json().encode())
    assert [each for each in found.findings if each.follows is False] == []
    assert found.holds
    assert found.release.to_json() == made(name).to_json()
    checked = {each.what for each in found.findings if each.follows}
    assert {"digest", "proof"} <= checked
    assert "calibration" in checked


def test_every_mechanism_and_protocol_is_made_here():
    recipes = {made(name).made.recipe["mechanism"] for name in MAKERS if name != "sum"}
    lists = {name for name in EVERY_MECHANISM if name.startswith("keys-")}  # they need not be made here
    # a group is told by its unit of several rows, a total by its share
    assert {*EVERY_MECHANISM, *CAMPAIGNS} - lists == recipes - lists | {"group", "total"}
    assert made("total").made.recipe["other_share"] == "0.05"
    assert made("group").made.recipe["rows"] == 2


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_read_back_has_equal_methods(name):
    release = made(name)
    again = hc.read_release(release.to_json().encode())
    assert type(again) is type(release)
    assert (again.guarantee, again.notes, again.made) == (release.guarantee, release.notes, release.made)
    assert again.named("visits").made.source_name == "visits"
    if isinstance(release, Oracle):
        assert again.estimate(["key 3", "none"]) == release.estimate(["key 3", "none"])
        assert again.interval(0.8) == release.interval(0.8)
        return
    assert again.table == release.table
    assert again.accuracy(0.8) == release.accuracy(0.8)
    assert again.at_confidence(0.8).table == release.at_confidence(0.8).table


@pytest.mark.parametrize("name", MAKERS)
def test_every_change_is_noticed_or_listed(name):
    values = json.loads(made(name).to_json())
    unnoticed = [
        name_of(path)
        for path, value in leaves(values)
        if path[0] != "digest"
        and not allowed(name, path)
        and hc.verify(forged(changed(values, path, other(value)))).holds
    ]
    assert unnoticed == []


def test_without_a_new_digest_every_change_is_noticed():
    values = json.loads(made("floor").to_json())
    for path, value in leaves(values):
        found = hc.verify(canonical(changed(values, path, other(value))))
        assert not found.holds, path


@pytest.fixture
def keys(tmp_path):
    private = Ed25519PrivateKey.generate()
    pem = private.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    (tmp_path / "key.pem").write_bytes(pem)
    public = private.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "key.pub").write_bytes(public)
    return tmp_path


def signature_of(found):
    return next((each.follows, each.sentence) for each in found.findings if each.what == "signature")


def test_a_signature_covers_everything(keys):
    values = signed(json.loads(made("floor").to_json()), keys / "key.pem")
    key = keys / "key.pub"
    assert signature_of(hc.verify(canonical(values), public_key=key)) == (
        True,
        "The file is signed with the key that was given.",
    )
    follows, sentence = signature_of(hc.verify(canonical(values)))
    assert follows
    assert sentence.startswith(f"The file is signed with the key {values['signature']['public_key']};")
    for path, value in leaves(values):
        copy = changed(values, path, other(value))
        copy["digest"] = digest(copy)
        if path[0] != "digest":
            assert not hc.verify(canonical(copy), public_key=key).holds, path


def test_a_missing_signature_is_asked_for(keys):
    data = made("floor").to_json().encode()
    assert signature_of(hc.verify(data)) == (None, "The file is not signed.")
    found = hc.verify(data, public_key=keys / "key.pub")
    assert (found.holds, *signature_of(found)) == (False, False, "The file is not signed.")


def test_what_does_not_follow_is_named():
    values = json.loads(made("floor").to_json())
    values["guarantee"]["delta"] = "1e-09"
    values["guarantee"]["parameters"]["threshold"] -= 1
    sentences = [each.sentence for each in hc.verify(forged(values)).findings if each.follows is False]
    assert sentences[0] == "These do not follow from the budget and the public numbers: delta, threshold."


def test_a_count_below_the_threshold_is_noticed():
    values = json.loads(made("floor").to_json())
    values["counts"][-1] = values["rows"][-1]["count"] = 3
    found = hc.verify(forged(values))
    assert "Some published count is below" in " ".join(each.sentence for each in found.findings)


def test_a_recipe_is_required():
    values = json.loads(made("floor").to_json()) | {"made": None}
    found = hc.verify(forged(values))
    assert [each.sentence for each in found.findings if each.follows is False] == [
        "The file has no recipe from which the calibration could follow."
    ]


def test_seeded_releases_do_not_hold():
    with hc.testing.seeded(7):
        release = hc.top(KEYS, epsilon=1.0, delta=1e-6, counters=64)
    found = hc.verify(release.to_json().encode())
    assert not found.holds
    assert "NOT PRIVATE: the noise came from a seed for tests." in [each.sentence for each in found.findings]


def test_other_files_do_not_hold(tmp_path):
    (tmp_path / "x.json").write_text("{}")
    (finding,) = hc.verify(tmp_path / "x.json").findings
    assert finding.sentence == f"{tmp_path}/x.json is not a release of hushcount in JSON."
    values = json.loads(made("floor").to_json())
    first = {"hushcount": 1, "kind": "release", "counted": "", "floor": 1, "notes": [], "rows": []}
    first |= {"guarantee": made("floor").guarantee.to_dict(), "accuracy": values["accuracy"]}
    first["accuracy"]["confidence"] = 0.95
    (finding,) = hc.verify(json.dumps(first).encode()).findings
    assert finding.sentence == "The file is of version 1, which states too little to be verified."


def test_count_min_offered_a_delta_follows():
    oracle = hc.oracle(KEYS, kind="count-min", width=64, depth=3, epsilon=1.0, delta=1e-6)
    assert hc.verify(oracle.to_json().encode()).holds
    other_one = hc.oracle(KEYS, like=oracle, epsilon=1.0)
    assert hc.verify(oracle.merge(other_one).to_json().encode()).holds


@pytest.mark.parametrize(
    "page", ["/etc/passwd", "docs/proofs/../../README.md", "docs/proofs/none.md", "9" * 5000]
)
def test_only_pages_of_proofs_are_looked_up(page):
    values = json.loads(made("floor").to_json())
    values["guarantee"]["proof"] = page
    (said,) = [each for each in hc.verify(forged(values)).findings if each.what == "proof"]
    assert (said.follows, said.sentence) == (False, f"{page} is not in this installation.")


def test_a_local_release_without_a_manifest_is_not_checked():
    values = json.loads(made("local, explicit_hist").to_json()) | {"made": None}
    (said,) = [each for each in hc.verify(forged(values)).findings if each.what == "calibration"]
    assert (said.follows, said.sentence) == (
        None,
        "The file has no manifest of its campaign, so that the noise of the clients cannot be checked.",
    )


def test_a_manifest_of_another_epsilon_is_noticed():
    values = json.loads(made("local, explicit_hist").to_json())
    values["guarantee"]["epsilon"] = "2"
    values["made"]["recipe"]["manifest"] = values["made"]["recipe"]["manifest"].replace('"epsilon":"4"', "")
    (said,) = [each for each in hc.verify(forged(values)).findings if each.what == "calibration"]
    assert said.sentence == "The manifest of the campaign in the file is damaged."


def test_oracles_state_their_options_in_every_form(tmp_path):
    path = tmp_path / "visits.hc"
    oracle = hc.oracle(KEYS, width=64, output=path, epsilon=1.0, delta=1e-6)
    assert oracle.made.options == {"width": 64}
    assert hc.Oracle.load(path).made == hc.read_release(path).made == oracle.made
    assert hc.verify(path).holds
    sketch = tmp_path / "sketch.hc"
    hc.SpaceSaving(counters=2).save(sketch)
    assert [each.sentence for each in hc.verify(sketch).findings] == [
        f"{sketch} is a sketch, which is raw data, or a damaged oracle: no release."
    ]
    assert hc.Oracle.load(oracle.named("visits").to_bytes()).made.source_name == "visits"
    values = json.loads(oracle.to_json())
    values["made"]["options"]["width"] = 128
    assert not hc.verify(forged(values)).holds


def test_releases_of_sketches_state_their_options():
    sketch = hc.SpaceSaving(counters=64)
    sketch.update(KEYS)
    release = hc.release(sketch, epsilon=1.0, delta=1e-6, max_events=50_000)
    assert release.made.options == {"max_events": 50_000, "confidence": "0.95"}
    assert hc.verify(release.to_json().encode()).holds


def test_the_threshold_of_a_campaign_is_its_floor():
    values = json.loads(made("local, explicit_hist").to_json())
    (said,) = [each for each in hc.verify(forged(values)).findings if each.what == "threshold"]
    assert said.sentence == "Every published count is at least 6,000, the threshold."
    values["floor"] = 1_000_000
    assert not hc.verify(forged(values)).holds
