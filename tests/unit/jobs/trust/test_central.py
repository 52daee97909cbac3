"""`verify` proves the central guarantee of an anonymous campaign anew, and finds what does not follow."""

import dataclasses
import time

import pytest
from tests.collector import ADMIN, REPORTS, batch_of, bearer, campaign, collecting, new, reports_of, tokens

import hushcount as hc
from hushcount import ldp
from hushcount.ldp.server.decoding import guarantee_of, notes_of, recipe_of
from hushcount.ldp.wire.terms import PROMISE
from hushcount.releases.stored.reading import read_release

MIN_BATCH = 1000
TERMS = ldp.Terms(
    relay="a relay", min_batch=MIN_BATCH, central_epsilon="1.5", central_delta="0.000001", promise=PROMISE
)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """What a collector releases of an anonymous campaign that a ledger is charged for, and the ledger."""
    folder = tmp_path_factory.mktemp("central")
    ledger = str(folder / "spent.db")
    hc.Ledger(ledger).init("words", epsilon=2, delta=1e-5, slack=0, unit="user")
    with collecting(folder / "store.db", ledger=ledger, dataset="words") as client:
        path = new(client, manifest := campaign(terms=TERMS, expires=int(time.time()) + 3600))
        (relay,) = tokens(client, path, role="relay")
        body = batch_of(reports_of(manifest, MIN_BATCH))
        assert client.post(f"{path}/reports", headers=REPORTS | bearer(relay), content=body).is_success
        return client.post(f"{path}/release", headers=ADMIN).content, ledger


def found(document, what, **given):
    """What is found about one thing."""
    facts = [each for each in hc.verify(document, **given).findings if each.what == what]
    return [(each.follows, each.sentence) for each in facts]


def with_terms(document, terms=None, reports=None, notes=None):
    """A release whose manifest has other terms, and which states what follows from that."""
    release = read_release(document)
    manifest = ldp.Manifest.parse(release.made.recipe["manifest"])
    made = dataclasses.replace(manifest, terms=terms or manifest.terms)
    count = reports or int(release.made.recipe["reports"])
    recipe = {**release.made.recipe, **recipe_of(made, count)}
    forged = dataclasses.replace(
        release,
        guarantee=guarantee_of(made, count),
        made=dataclasses.replace(release.made, recipe=recipe),
        notes=notes_of(made) if notes is None else notes,
    )
    return forged.to_json().encode()


def test_it_is_proved_anew(released):
    document, ledger = released
    assert found(document, "central guarantee") == [
        (
            True,
            "The central guarantee (1.5, 1e-06) of shuffled batches of at least 1,000 honest reports was"
            " proved anew; whether a relay shuffles them, and is in another hand than the collector, cannot"
            " be seen in a file.",
        )
    ]
    assert hc.verify(document, ledger=ledger).holds
    ((follows, sentence),) = found(document, "ledger", ledger=ledger)
    assert (follows, "dataset words" in sentence) == (True, True)


@pytest.mark.parametrize(
    "changed", [{"central_epsilon": "0.05"}, {"central_epsilon": "0.5", "min_batch": 100}, {"min_batch": 3}]
)
def test_more_than_follows_is_found(released, changed):
    document = with_terms(released[0], dataclasses.replace(TERMS, **changed))
    expected = [(False, "The central guarantee does not follow from the manifest.")]
    assert found(document, "central guarantee") == expected
    assert not hc.verify(document).holds


def test_the_check_sees_nothing_else_in_what_is_forged(released):
    document = with_terms(released[0], dataclasses.replace(TERMS, relay="another relay"))
    assert found(document, "central guarantee")[0][0]


def test_fewer_reports_than_a_batch_are_found(released):
    document = with_terms(released[0], reports=MIN_BATCH - 1)
    expected = [(False, "There are fewer reports than the smallest batch of the manifest.")]
    assert found(document, "central guarantee") == expected


def test_notes_must_be_those_of_the_manifest(released):
    (note,) = [each for each in read_release(released[0]).notes if "1.5" in each]
    for terms, notes in ((TERMS, (note.replace("1.5", "0.1"),)), (ldp.Terms(relay="a relay"), (note,))):
        document = with_terms(released[0], terms, notes=notes)
        assert found(document, "central guarantee") == [
            (False, "The notes state another central guarantee than the manifest claims.")
        ]


def test_a_plain_campaign_has_none_and_charges_nothing(released):
    document, ledger = released
    plain = with_terms(document, ldp.Terms())
    assert found(plain, "central guarantee") == []
    assert found(plain, "ledger", ledger=ledger) == [
        (None, "Nothing is charged for a campaign whose only guarantee is the local one.")
    ]
    other = with_terms(document, dataclasses.replace(TERMS, collector="another one"))
    assert [each[0] for each in found(other, "ledger", ledger=ledger)] == [False]
