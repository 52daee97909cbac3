"""Dry runs of the local model refuse what the run refuses, and write, send and spend nothing."""

import json

import pytest
from tests.collector import ADMIN_TOKEN, batch_of, campaign, reports_of, serving

from hushcount.cli.main import main
from hushcount.ldp.client.http import ask
from hushcount.ldp.wire.manifest import Manifest


@pytest.fixture
def here(tmp_path, monkeypatch, capfd):
    """A campaign over numbers, a table of users, and what a command answers."""
    monkeypatch.chdir(tmp_path)
    campaign().save("m.json")
    (tmp_path / "held.csv").write_text("who,n\na,7\na,9\nb,7\nc,x\n")

    def answer(*words):
        code = main(list(words))
        said = capfd.readouterr()
        return code, said.out, said.err

    return answer


WORDS = ("randomise", "m.json", "held.csv", "--column", "n", "--output", "r.bin")


def test_randomising_is_told_and_not_done(here, tmp_path):
    before = sorted(tmp_path.iterdir())
    code, out, err = here("ldp", *WORDS, "--dry-run")
    said = dict(line.split("\t") for line in out.splitlines())
    assert (code, err) == (0, "")
    assert said["columns"] == "n (string)"
    assert said["outputs"] == "r.bin"
    assert said["notes"].startswith("Every row is a user.")
    assert said["cost"] == (
        f"epsilon {campaign().epsilon} of the local budget of every user who reports, each time: a second"
        " report of the same user costs it again"
    )
    assert said["dry run"] == "No report was made, and nothing was spent."
    assert sorted(tmp_path.iterdir()) == before


def test_randomising_as_json_says_what_it_would_and_what_it_did(here):
    would = json.loads(here("ldp", *WORDS, "--user", "who", "--dry-run", "--json")[1])
    assert would["kind"] == "dry-run"
    assert (
        would["notes"][0]
        == "Every different user of column who is one, who reports at most 1 of their items."
    )
    done = json.loads(here("ldp", *WORDS, "--user", "who", "--json")[1])
    assert done == {
        "hushcount": 1,
        "kind": "reports",
        "campaign": would["guarantee"]["parameters"]["campaign"],
        "epsilon": would["cost"]["epsilon"],
        "reports": 3,
        "output": "r.bin",
    }


@pytest.mark.parametrize(
    "change",
    [
        ("--column", "n", "--column", "who"),
        ("--report-format", "batch"),
        ("--output", "held.csv"),
        ("--output", "none/r.bin"),
        ("--column", "missing"),
        ("-", "--format", "csv", "--user", "who"),
    ],
)
def test_what_the_run_refuses_is_refused_before_it(here, change):
    if change[0] == "--column":
        words = ("randomise", "m.json", "held.csv", *change, "--output", "r.bin")
    elif change[0] == "-":
        words = ("randomise", "m.json", *change, "--column", "n", "--output", "r.bin")
    else:
        words = (*WORDS, *change)
    real = here("ldp", *words)
    assert real[0] != 0
    assert here("ldp", *words, "--dry-run") == real


def test_a_release_of_a_collector_is_told_and_not_done(here, tmp_path):
    (tmp_path / "admin.token").write_text(ADMIN_TOKEN + "\n")
    manifest = Manifest.load("m.json")
    with serving(tmp_path / "store.db") as (_, url):
        options = ["--url", url, "--admin-token-file", "admin.token"]
        made = json.loads(here("collect", "new", "m.json", *options, "--relay-token", "--json")[1])
        place, kind = f"{url}/v1/campaigns/{manifest.id}", "application/vnd.hushcount.reports"
        sent = batch_of(reports_of(manifest, 700))
        assert ask("POST", f"{place}/reports", made["relay_token"], sent, kind).status == 202
        code, out, _ = here("collect", "release", manifest.id, *options, "--dry-run")
        said = dict(line.split("\t") for line in out.splitlines())
        assert code == 0
        assert said["reports"] == "700"
        assert said["released"] == "nothing yet"
        assert said["cost"] == "nothing: every report is private by itself"
        assert ask("GET", f"{place}/heavy-hitters", "").status in (401, 403)  # nobody else may see it
        assert here("collect", "release", manifest.id, *options, "--json")[0] == 0
        would = json.loads(here("collect", "release", manifest.id, *options, "--dry-run", "--json")[1])
        assert (would["kind"], would["reports"], bool(would["released"])) == ("dry-run", 700, True)
