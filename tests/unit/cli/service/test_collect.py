"""`hushcount collect` asks a running collector: every command, and what it says when it fails."""

import json
import os

import pytest
from tests.collector import ADMIN_TOKEN, batch_of, campaign, reports_of, serving

import hushcount as hc
from hushcount.cli.main import main
from hushcount.ldp.client.http import ask


@pytest.fixture
def made(tmp_path):
    """A collector, its administrator's options, and a campaign that is not made yet."""
    (tmp_path / "admin.token").write_text(ADMIN_TOKEN + "\n")
    manifest = campaign()
    manifest.save(tmp_path / "numbers.json")
    with serving(tmp_path / "store.db") as (_, url):
        options = ["--url", url, "--admin-token-file", str(tmp_path / "admin.token")]
        yield url, options, manifest, str(tmp_path / "numbers.json")


def run(capsys, *words):
    """The exit code, the output and the messages of a command."""
    code = main(["collect", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_campaign_from_beginning_to_end(made, capsys, tmp_path):
    url, options, manifest, path = made
    code, out, _ = run(capsys, "new", path, *options, "--tokens", "2", "--relay-token", "--json")
    found = json.loads(out)
    assert (code, found["id"]) == (0, manifest.id)
    assert len(set(found["tokens"])) == 2
    assert found["relay_token"]
    code, out, _ = run(capsys, "new", path, *options, "--tokens", "1")
    assert code == 0
    assert len(out.splitlines()) == 3
    place = f"{url}/v1/campaigns/{manifest.id}/reports"
    kind = "application/vnd.hushcount.reports"
    assert ask("POST", place, found["relay_token"], batch_of(reports_of(manifest, 700)), kind).status == 202
    assert "700 reports" in run(capsys, "status", *options)[1]
    assert json.loads(run(capsys, "status", *options, "--json")[1])["campaigns"][0]["reports"] == 700
    one = run(capsys, "status", manifest.id, *options, "--check")[1]
    assert "honest" in one
    assert json.loads(run(capsys, "status", manifest.id, *options, "--json")[1])["reports"] == 700
    code, out, _ = run(capsys, "release", manifest.id, *options, "--json")
    assert json.loads(out)["rows"][0]["key"] == 7
    output = tmp_path / "found.csv"
    assert run(capsys, "export", manifest.id, *options, "--output", str(output))[0] == 0
    assert output.read_text().splitlines()[1].startswith("7,")
    code, _, err = run(capsys, "close", manifest.id, *options, "--delete")
    assert code == 0
    assert "700 reports; all of it is deleted" in " ".join(err.split())
    code, _, err = run(capsys, "status", manifest.id, *options)
    assert (code, "410" in err) == (1, True)


def test_the_ledger_is_looked_at_before_anything_is_served(made, capsys, tmp_path, monkeypatch):
    _, options, _, _ = made
    serve = ["serve", "--store", str(tmp_path / "x.db"), *options[2:], "--listen", "here"]
    ledger = str(tmp_path / "spent.db")
    for named in (["--ledger", ledger], []):
        monkeypatch.setenv("HUSHCOUNT_LEDGER", "" if named else ledger)
        assert "--dataset go together" in run(capsys, *serve, *named)[2]
        assert "no ledger at" in run(capsys, *serve, *named, "--dataset", "words")[2]
        hc.Ledger(ledger).init("events", epsilon=1, delta=1e-6)
        hc.Ledger(ledger).init("words", epsilon=1, delta=1e-6, unit="user")
        assert "has no dataset none" in run(capsys, *serve, *named, "--dataset", "none")[2]
        assert "does not protect users" in run(capsys, *serve, *named, "--dataset", "events")[2]
        assert "HOST:PORT" in run(capsys, *serve, *named, "--dataset", "words")[2]
        os.remove(ledger)


def test_what_goes_wrong_is_said_in_a_sentence(made, capsys, tmp_path):
    url, options, _, _ = made
    (tmp_path / "wrong.token").write_text("not the administrator's")
    (tmp_path / "short.token").write_text("short")
    (tmp_path / "right.token").write_text("0" * 20)
    for words, said in (
        (["status", "--url", url, "--admin-token-file", str(tmp_path / "none")], "Cannot read"),
        (["status", "--url", url, "--admin-token-file", str(tmp_path / "short.token")], "at least 16"),
        (["status", "--url", url, "--admin-token-file", str(tmp_path / "wrong.token")], "no space"),
        (["status", "--url", url, "--admin-token-file", str(tmp_path / "right.token")], "status 401"),
        (["status", "--url", "http://127.0.0.1:9", *options[2:]], "cannot be reached"),
        (["status", "--url", "nowhere", *options[2:]], "must be http"),
        (["new", str(tmp_path / "none.json"), *options], "Cannot read"),
        (["serve", "--store", str(tmp_path / "x.db"), *options[2:], "--listen", "here"], "HOST:PORT"),
        (["serve", "--store", str(tmp_path / "x.db"), *options[2:], "--min-group", "0"], "min-group"),
        (["serve", "--store", str(tmp_path / "x.db"), *options[2:], "--ledger", "a.db"], "dataset"),
    ):
        code, out, err = run(capsys, *words)
        assert code in (1, 2), words
        assert said in err, (words, err)
        assert not out
        assert ADMIN_TOKEN not in err
