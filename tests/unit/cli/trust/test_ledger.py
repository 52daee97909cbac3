"""`hushcount ledger`: budgets are made, shown, added to, checked and exported; JSON keeps its contract."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest

from hushcount.accounting.charges import Event
from hushcount.accounting.ledger import Ledger
from hushcount.accounting.runs import Answer, RunPlan
from hushcount.accounting.windows import TimeWindow
from hushcount.cli.main import main
from hushcount.stores.database import shown

INIT = ["--dataset", "searches", "--epsilon", "1", "--delta", "1e-6"]


@pytest.fixture
def run(capfd):
    """Run the program; return exit code, standard output and standard error."""

    def call(*arguments):
        code = main(["ledger", *map(str, arguments)])
        out, err = capfd.readouterr()
        return code, out, err

    return call


@pytest.fixture
def spent(location, run):
    """A ledger with a budget and one release."""
    assert run("init", location, *INIT)[0] == 0
    plan = RunPlan(
        "q", "event", Event.of("0.3", "1e-8"), run_id="nightly", window=TimeWindow.parse("2026-11-15")
    )
    ledger = Ledger(location)
    ledger.commit(ledger.reserve("searches", plan), Answer(b"table"))
    return location


def test_init_shows_what_was_made(location, run):
    code, out, err = run("init", location, *INIT)
    assert code == 0
    assert [line.split("\t") for line in out.splitlines()] == [
        [
            *("dataset", "releases", "epsilon spent", "epsilon budget", "epsilon left"),
            *("delta spent", "delta budget", "delta left"),
        ],
        ["searches", "0", "0", "1", "1", "0", "1e-06", "5e-07"],
    ]
    assert " ".join(err.split()) == (
        "Promise searches: all releases together are (1, 1e-6)-differentially private for one event, also if"
        " each was chosen after seeing the others."
    )


def test_show_as_json(spent, run):
    code, out, err = run("show", spent, "--json")
    (dataset,) = json.loads(out)["datasets"]
    assert (code, err) == (0, "")
    hash_ = dataset["head"].pop("hash")
    assert len(hash_) == 64
    assert dataset == {
        "dataset": "searches",
        "unit": "event",
        "cell": None,
        "protects": "one event",
        "budget": {
            "epsilon": "1",
            "delta": "1e-6",
            "parts": [
                {
                    "epsilon": "1",
                    "delta": "1e-6",
                    "slack": "5e-7",
                    "order": "23",
                    "bound": "0.52748978427105794",
                    "rho": "0.022934338446567736",
                    "stated": "epsilon",
                }
            ],
        },
        "spent": {
            "epsilon": "0.3",
            "delta": "1e-8",
            "basic_epsilon": "0.3",
            "renyi": "0.274802096658619069",
        },
        "left": {"epsilon": "0.7", "delta": "4.9e-7"},
        "releases": "1",
        "head": {"seq": "3"},
    }
    assert (
        json.loads(run("show", spent, "--dataset", "searches", "--json")[1])["datasets"][0]["dataset"]
        == "searches"
    )


def test_history_as_json(spent, run):
    code, out, _ = run("history", spent, "--dataset", "searches", "--json")
    entries = json.loads(out)["entries"]
    assert code == 0
    assert [
        [entry[name] for name in ("seq", "kind", "run_id", "epsilon", "delta", "window")] for entry in entries
    ] == [
        ["1", "init", None, "1", "1e-6", None],
        ["2", "reserve", "nightly", "0.3", "1e-8", "2026-11-15T00:00:00Z/2026-11-16T00:00:00Z"],
        ["3", "commit", "nightly", None, None, None],
    ]
    head = json.loads(run("show", spent, "--json")[1])["datasets"][0]["head"]
    assert head == {"seq": entries[-1]["seq"], "hash": entries[-1]["hash"]}


def test_history_in_a_pipe_is_tab_separated(spent, run):
    lines = run("history", spent, "--dataset", "searches")[1].splitlines()
    assert lines[0] == "entry\trecorded\tkind\trun\tepsilon\tdelta\twindow\thash"
    assert [line.split("\t")[2] for line in lines[1:]] == ["init", "reserve", "commit"]


def test_grant(spent, run):
    code, out, _ = run(
        "grant", spent, "--dataset", "searches", "--epsilon", "0.5", "--delta", "1e-7", "--json"
    )
    (dataset,) = json.loads(out)["datasets"]
    assert (code, dataset["budget"]["epsilon"], dataset["budget"]["delta"]) == (0, "1.5", "1.1e-6")


def test_units_and_cells(location, run):
    more = ["--unit", "user-window", "--slack", "0", "--json"]
    dataset = json.loads(run("init", location, *INIT, *more)[1])["datasets"][0]
    assert (dataset["unit"], dataset["cell"], dataset["budget"]["parts"][0]["order"]) == (
        "user-window",
        "1d",
        "none",
    )


def test_export_and_verify(spent, run, tmp_path):
    witness = tmp_path / "witness.json"
    assert run("export", spent, "--output", witness)[0] == 0
    assert run("verify", spent) == (0, "The ledger is intact.\n", "")
    assert run("verify", spent, "--witness", witness) == (0, "The ledger is intact.\n", "")
    stored = json.loads(witness.read_text())
    stored["datasets"][0]["hash"] = "0" * 64
    witness.write_text(json.dumps(stored))
    code, out, err = run("verify", spent, "--witness", witness)
    assert (code, out) == (1, "")
    assert " ".join(err.split()) == (
        f"{shown(spent)} does not continue {witness}: dataset searches has another entry 3, or none. The"
        " ledger was rolled back or rebuilt. The ledger is not intact."
    )
    problem = " ".join(err.split()).removesuffix(" The ledger is not intact.")
    code, out, err = run("verify", spent, "--witness", witness, "--json")
    told = json.loads(out)
    assert (code, told["intact"], len(told["problems"])) == (1, False, 1)
    assert told["problems"] == [problem]
    assert json.loads(err)["error"]["message"] == "The ledger is not intact."
    assert json.loads(run("verify", spent, "--json")[1]) == {
        "intact": True,
        "problems": [],
        "witnessed": "://" not in spent,
    }


def test_the_witness_beside_a_file_is_always_asked(tmp_path, run):
    path = tmp_path / "spent.db"
    run("init", path, *INIT)
    head = tmp_path / "spent.db.head"
    head.write_text(head.read_text().replace('"seq":"1"', '"seq":"7"'))
    assert run("verify", path)[0] == 1
    head.write_text("secret")
    assert run("verify", path) == (1, "", f"{head} cannot be read: it is not a witness of a ledger.\n")


def test_a_ledger_without_a_witness_is_told_of(tmp_path, run):
    """Whoever puts back an older copy can take away the witness too; an earlier export still tells."""
    path = tmp_path / "spent.db"
    run("init", path, *INIT)
    old = path.read_bytes()
    run("grant", path, *INIT)
    run("export", path, "--output", tmp_path / "w.json")
    assert run("verify", path) == (0, "The ledger is intact.\n", "")
    path.write_bytes(old)
    (tmp_path / "spent.db.head").unlink()
    code, out, err = run("verify", path)
    assert (code, out) == (0, "The ledger is intact.\n")
    assert " ".join(err.split()).endswith(
        "No witness was asked, so an older copy in its place would look the same; give an earlier export"
        " with --witness."
    )
    assert json.loads(run("verify", path, "--json")[1])["witnessed"] is False
    assert run("verify", path, "--witness", tmp_path / "w.json")[0] == 1


def test_a_schedule_is_computed_or_charged(spent, run):
    terms = ["--releases", "12", "--epsilon", "0.02", "--delta", "1e-10", "--total-delta", "1e-8"]
    code, out, _ = run("schedule", *terms)
    assert code == 0
    assert out.splitlines()[1:] == [
        "together\tepsilon 0.239968 at delta 1e-8",
        "added up\tepsilon 0.24",
        "rows\tof all times",
        "question\tthat of the first run",
        "charged\tnothing: this was a computation",
    ]
    assert json.loads(run("show", spent, "--json")[1])["datasets"][0]["spent"]["epsilon"] == "0.3"
    code, out, _ = run("schedule", spent, "--dataset", "searches", "--name", "monthly", *terms, "--json")
    cost = json.loads(out)
    assert (code, cost["releases"], cost["basic_epsilon"], cost["delta"]) == (0, "12", "0.24", "1e-8")
    history = json.loads(run("history", spent, "--dataset", "searches", "--json")[1])["entries"]
    assert (history[-1]["kind"], history[-1]["run_id"]) == ("schedule", "monthly")
    assert history[-1]["epsilon"] == cost["epsilon"]


def test_a_dry_run_of_a_schedule_charges_nothing(spent, run):
    terms = ["--releases", "12", "--delta", "1e-10", "--total-delta", "1e-8", "--dataset", "searches"]
    terms += ["--window", "2026-01-01/2027-01-01", "--time", "at", "--name", "monthly", "--dry-run"]
    before = run("show", spent, "--json")[1]
    code, out, err = run("schedule", spent, *terms, "--epsilon", "0.02")
    assert (code, err) == (0, "")
    said = dict(line.split("\t") for line in out.splitlines())
    assert said["rows"] == "of 2026-01-01T00:00:00Z/2027-01-01T00:00:00Z"
    assert said["charged"].startswith("Dataset searches would be charged epsilon 0.23996")
    assert said["charged"].endswith("This was a dry run: nothing was charged.")
    code, out, err = run("schedule", spent, *terms, "--epsilon", "0.2", "--json")
    assert (code, json.loads(out)["ledger"]["outcome"]) == (1, "refused")
    assert json.loads(err)["error"]["kind"] == "BudgetExceeded"
    assert run("show", spent, "--json")[1] == before


def test_a_year_of_nights_by_schedule(run):
    terms = ["--releases", "365", "--epsilon", "0.05", "--delta", "1e-10", "--total-delta", "1e-6"]
    assert json.loads(run("schedule", *terms, "--json")[1])["epsilon"].startswith("4.62025352")


def test_the_environment_names_the_ledger(spent, run, monkeypatch):
    monkeypatch.setenv("HUSHCOUNT_LEDGER", spent)
    assert run("verify") == (0, "The ledger is intact.\n", "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--epsilon", "0", "--delta", "1e-6"], "--epsilon must be above 0, got 0.\n"),
        (["--epsilon", "x", "--delta", "1e-6"], "--epsilon must be a number, got 'x'.\n"),
        (
            ["--epsilon", "1", "--delta", "1e-6", "--slack", "1"],
            "--slack must be at most --delta = 1e-6, got 1.\n",
        ),
        (["--epsilon", "1", "--delta", "1e-6", "--cell", "1d"], None),
    ],
)
def test_bad_terms_are_refused_in_the_words_of_the_command(tmp_path, run, arguments, sentence):
    code, out, err = run("init", tmp_path / "spent.db", "--dataset", "a", *arguments)
    assert (code, out) == (2, "")
    assert sentence is None or err == sentence
    assert not (tmp_path / "spent.db").exists()


def test_a_missing_ledger_is_said(tmp_path, run):
    for command in (["show"], ["verify"], ["history", "--dataset", "a"]):
        name, *more = command
        assert run(name, tmp_path / "no.db", *more) == (
            1,
            "",
            f"There is no ledger at {tmp_path / 'no.db'}; `hushcount ledger init` makes one.\n",
        )


def test_tables_on_a_terminal(tmp_path, run):
    run("init", tmp_path / "spent.db", *INIT)
    plan = RunPlan(
        "q" * 9, "event", Event.of("0.5", "1e-8"), source="f", window=TimeWindow.parse("2026-11-15")
    )
    Ledger(tmp_path / "spent.db").reserve("searches", plan)
    text = on_terminal("show", str(tmp_path / "spent.db"))
    assert "██████" in text
    assert "searches" in text
    text = on_terminal("history", str(tmp_path / "spent.db"), "--dataset", "searches")
    assert "2026-11-15/2026-11-16" in text
    assert "…" in text


def test_tables_fit_a_terminal_of_80_columns(tmp_path, run):
    run("init", tmp_path / "spent.db", "--dataset", "cells", "--rho", "0.1", "--delta", "1e-6")
    plan = RunPlan("q", "event", Event.of("0.5", "1e-8"), run_id="nightly-1", source="f")
    Ledger(tmp_path / "spent.db").reserve("cells", plan)
    for text in (
        on_terminal("show", str(tmp_path / "spent.db"), columns=80),
        on_terminal("history", str(tmp_path / "spent.db"), "--dataset", "cells", columns=80),
    ):
        plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
        assert max(len(line.rstrip()) for line in plain.splitlines()) <= 80
        assert "cells" in plain or "nightly-1" in plain
        assert "0.5" in plain


def test_a_budget_in_rho_is_promised_with_its_epsilon_rounded_up(location, run):
    code, out, err = run("init", location, "--dataset", "cells", "--rho", "0.1", "--delta", "1e-6")
    assert code == 0
    assert out.splitlines()[1].split("\t")[3] == "2.20606"
    assert " ".join(err.split()) == (
        "Promise cells: all releases together are (2.20606, 1e-06)-differentially private for one event, also"
        " if each was chosen after seeing the others. Releases with Gaussian noise may spend rho 0.1 in all"
        " (zCDP)."
    )


def on_terminal(*arguments, columns=120):
    """Run the program on a terminal and return what it printed there."""
    main_end, child_end = pty.openpty()
    environment = os.environ | {"COLUMNS": str(columns), "TERM": "xterm"}
    done = subprocess.run(
        [sys.executable, "-m", "hushcount", "ledger", *arguments],
        stdout=child_end,
        env=environment,
        check=True,
    )
    os.close(child_end)
    assert done.returncode == 0
    text = os.read(main_end, 65536).decode()
    os.close(main_end)
    return text
