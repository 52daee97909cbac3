"""`hushcount watch` from init to the feed."""

import json

import pytest

from hushcount.cli.main import main

INIT = ["--period", "1d", "--from", "2026-10-01", "--until", "2026-10-03", "--ledger", "spent.db"]
SPENDS = ["--dataset", "site", "--epsilon", "1", "--delta", "1e-8"]


@pytest.fixture
def made(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["ledger", "init", "spent.db", *SPENDS, "--slack", "0"]) == 0
    (tmp_path / "rows.csv").write_text("url\n" + "tea\n" * 500 + "rare\n")
    assert main(["watch", "init", "site.hw", *INIT, *SPENDS, "--column", "url"]) == 0
    return tmp_path


def test_the_whole_way(capsys, made):
    assert "A key with " in capsys.readouterr().err
    assert main(["watch", "add", "site.hw", "rows.csv"]) == 0
    assert main(["watch", "add", "site.hw", "rows.csv"]) == 0
    assert "was added before" in capsys.readouterr().err
    assert main(["watch", "close", "site.hw", "--feed", "feed"]) == 0
    names = sorted(path.name for path in (made / "feed").iterdir())
    assert names == ["2026-10-01T00.parquet", "2026-10-02T00.parquet", "feed.json"]
    assert "tea" not in capsys.readouterr().out  # how many rows there are is in the feed, and nowhere else
    assert main(["watch", "show", "feed"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[0].split("\t") == ["key", "count", "lower", "upper"]
    assert shown.out.splitlines()[1].startswith("tea\t")
    assert len(shown.out.splitlines()) == 2
    assert "is private with epsilon 1 and delta 1e-08 for one event." in " ".join(shown.err.split())
    assert main(["watch", "show", "feed", "--last", "1d", "--table"]) == 0
    assert "over this time" in capsys.readouterr().out
    assert main(["watch", "show", "feed", "--period", "2026-10-01T00", "--json"]) == 0
    assert '"kind": "feed-table"' in capsys.readouterr().out
    assert main(["watch", "show", "feed", "--so-far", "--last", "1d"]) == 2
    assert main(["watch", "show", "feed", "--last", "2d", "--report", "page.html"]) == 0
    assert "<td>tea</td>" in (made / "page.html").read_text()
    assert main(["watch", "show", "feed", "--period", "2026-10-01T00", "--report", "page.html"]) == 2
    capsys.readouterr()


def test_refusals(capsys, made):
    assert main(["watch", "close", "none.hw", "--feed", "feed"]) == 1
    said = capsys.readouterr().err
    assert said.endswith("There is no watch at none.hw; `hushcount watch init` makes one.\n")
    assert main(["watch", "run", "site.hw", "rows.csv", "--feed", "feed"]) == 2
    assert main(["watch", "close", "site.hw", "--feed", "feed", "--period", "2026-10-02T00"]) == 2


def test_a_plan_and_a_dry_run_make_nothing(capsys, made, monkeypatch):
    capsys.readouterr()
    time = ["--period", "1d", "--from", "2026-10-01", "--until", "2026-10-03"]
    assert main(["watch", "plan", *time, *SPENDS[2:], "--events", "1e5", "--keys", "zipf:1.1:1000"]) == 0
    said = capsys.readouterr()
    assert "A key is published with probability 0.95 from " in said.err
    assert "keys would be published until the end." in said.err
    assert said.out.splitlines()[0] == "events in a period\tpublished after"
    assert said.out.splitlines()[1] == "1000\t1 period"
    assert main(["watch", "plan", *time, *SPENDS[2:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "watch-plan"
    assert main(["ledger", "grant", "spent.db", *SPENDS, "--slack", "0"]) == 0
    monkeypatch.setenv("HUSHCOUNT_LEDGER", "spent.db")
    assert main(["watch", "init", "new.hw", *time, *SPENDS, "--name", "new", "--dry-run"]) == 0
    assert "Dataset site would be charged epsilon 1 and delta 1e-8." in capsys.readouterr().err
    assert not (made / "new.hw").exists()
    assert main(["watch", "init", "new.hw", *time, *SPENDS, "--name", "new"]) == 0
    assert (made / "new.hw").exists()


def test_users_on_the_command_line(capsys, made):
    assert main(["ledger", "init", "days.db", *SPENDS, "--slack", "0", "--unit", "user-window"]) == 0
    (made / "rows.csv").write_text(
        "who,url,ts\n" + "".join(f"u{who},tea,2026-10-01T07:00:00\n" for who in range(300))
    )
    asked = [*INIT[:-1], "days.db", *SPENDS, "--column", "url", "--time", "ts", "--user", "who"]
    assert main(["watch", "init", "days.hw", *asked, "--max-keys", "2", "--cell", "1d"]) == 0
    assert main(["watch", "init", "none.hw", *asked]) == 2
    assert main(["watch", "add", "days.hw", "rows.csv"]) == 0
    assert main(["watch", "close", "days.hw", "--feed", "days"]) == 0
    capsys.readouterr()
    assert main(["watch", "show", "days"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[1].startswith("tea\t")
    assert "for the rows of one user in one cell of 1d. Counts are of users" in " ".join(shown.err.split())
