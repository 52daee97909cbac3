"""Dry runs: what a release would be is said, nothing is drawn, counted or written."""

import json

import pytest

import hushcount as hc
from hushcount.accounting.filter import Filter
from hushcount.accounting.inspection import export, history, show
from hushcount.accounting.ledger import Ledger
from hushcount.cli.main import main
from hushcount.errors import BudgetExceeded, LedgerError
from hushcount.jobs import run as running
from hushcount.jobs.oracle import oracle_job
from hushcount.jobs.sample import sample_job
from hushcount.jobs.tree import tree_job
from hushcount.jobs.trust.dry_run import dry_run
from hushcount.mechanisms.forecast import Expected

BUDGET = ("--epsilon", "1", "--delta", "1e-8")
SECRET = "only-in-the-data"
COMMANDS = {
    "top": (),
    "tree": ("--hierarchy", "path/2", "--threshold", "300"),
    "sample": ("--rate", "0.01"),
    "oracle": ("--output", "{folder}/made.hc"),
}


@pytest.fixture
def no_noise(monkeypatch):
    """Nothing may be drawn, and no row counted."""

    def refused(*given):
        raise AssertionError("noise was drawn or a row was counted")

    monkeypatch.setattr(running, "drawn", refused)
    monkeypatch.setattr(running, "system_bits", refused)
    monkeypatch.setattr(running.Run, "count", refused)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("url,who\n" + "".join(f"/{SECRET}/{row},u{row}\n" for row in range(30)))
    return path


def answer(capfd, *words):
    code = main([str(word) for word in words])
    out, err = capfd.readouterr()
    return code, out, err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("no_noise")
def test_every_command_says_what_it_would_do(command, table, tmp_path, capfd):
    more = [word.format(folder=tmp_path) for word in COMMANDS[command]]
    words = (command, table, "--column", "url", *BUDGET, *more, "--dry-run")
    code, out, err = answer(capfd, *words)
    facts = dict(line.split("\t") for line in out.splitlines())
    assert (code, err) == (0, "")
    assert facts["files"] == "1"
    assert facts["columns"] == "url (string)"
    assert facts["protects"] == "one event, not one person (neighbours: add or remove one event)"
    assert facts["cost"] == "epsilon 1, delta 1e-08"
    assert facts["dry run"] == "No noise was drawn, and nothing was spent."
    assert SECRET not in out
    code, out, err = answer(capfd, *words, "--json")
    said = json.loads(out)
    assert (code, err) == (0, "")
    assert said["kind"] == "dry-run"
    assert said["columns"] == [{"name": "url", "type": "string"}]
    assert said["cost"] == {"epsilon": 1.0, "delta": 1e-8}
    assert SECRET not in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["visits.csv"]


@pytest.mark.usefixtures("no_noise")
def test_users(table, tmp_path, capfd):
    output = tmp_path / "top.csv"
    words = ("top", table, "--column", "url", "--user", "who", "--max-keys", "3", *BUDGET)
    code, out, _ = answer(capfd, *words, "--output", output, "--dry-run", "--json")
    said = json.loads(out)
    assert code == 0
    assert [column["name"] for column in said["columns"]] == ["url", "who"]
    assert said["guarantee"]["unit"] == "user"
    assert said["guarantee"]["mechanism"] == "truncated geometric for 3 keys of one user"
    assert (said["smallest_count"], said["error"], said["counted"]) == (61, 9, "users")
    assert not said["above_floor"]
    assert said["outputs"] == [str(output)]
    assert not output.exists()


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (("--column", "what"), 2, "Column 'what' is not in the file; it has: url, who."),
        (("--column", "url", "--mechanism", "dpss"), 2, "dpss needs --max-events, a public bound, got None."),
        (("--column", "url", "--output", "table.xyz"), 2, None),
    ],
)
def test_a_refusal_is_that_of_the_release(more, code, message, table, capfd):
    words = ("top", table, *BUDGET, *more)
    real = answer(capfd, *words)
    assert real == answer(capfd, *words, "--dry-run")
    assert real[0] == code
    assert message is None or real[2].strip() == message


def test_a_file_that_is_not_there_is_refused_as_by_the_release(tmp_path, capfd):
    words = ("top", tmp_path / "none.csv", "--column", "url", *BUDGET)
    assert answer(capfd, *words) == (code := answer(capfd, *words, "--dry-run"))
    assert code[0] == 1


def test_a_sketch_file_is_released_dry(table, tmp_path, capfd, monkeypatch):
    path = tmp_path / "visits.hc"
    assert answer(capfd, "sketch", table, "--column", "url", "--output", path)[0] == 0
    monkeypatch.setattr(running, "system_bits", lambda: pytest.fail("noise was drawn"))
    code, out, _ = answer(capfd, "release", path, *BUDGET, "--dry-run")
    facts = dict(line.split("\t") for line in out.splitlines())
    assert code == 0
    assert facts["columns"] == "url (string)"
    assert facts["mechanism"] == "floor release"
    assert facts["calibration"].startswith("noise discrete Laplace of scale 1, threshold 22")
    assert SECRET not in out
    assert answer(capfd, "release", path, *BUDGET, "--max-events", "5", "--dry-run")[0] == 1


@pytest.mark.parametrize("name", ["floor", "pmg", "dpss", "laplace-threshold", "truncated-geometric", "chan"])
def test_tables_promise_what_was_foretold(name):
    from hushcount.jobs.top import top_job

    asked = {"data": ["a"] * 900, "epsilon": 1.0, "delta": 1e-6, "mechanism": name, "max_events": 1000}
    compare(hc.top(**asked), dry_run(*top_job(asked | {"key_type": "auto"})))


@pytest.mark.parametrize("domain", ["0..99"])
@pytest.mark.parametrize("longest", [None, 1000])
def test_domains_promise_what_was_foretold(domain, longest):
    from hushcount.jobs.top import top_job

    asked = {"data": [7] * 900, "epsilon": 1.0, "delta": 0, "domain": domain, "max_events": longest}
    compare(hc.top(**asked), dry_run(*top_job(asked | {"key_type": "int"})))


@pytest.mark.parametrize("method", ["offline", "streaming"])
def test_trees_promise_what_was_foretold(method):
    asked = {"data": ["/a/b"] * 900, "epsilon": 1.0, "delta": 1e-6, "hierarchy": "path/2", "threshold": 200}
    compare(hc.tree(**asked, method=method), dry_run(*tree_job(asked | {"method": method})))


def test_samples_promise_what_was_foretold():
    asked = {"data": ["a"] * 900, "epsilon": 1.0, "delta": 1e-6, "rate": 0.5}
    compare(hc.sample(**asked), dry_run(*sample_job(asked)))


def compare(release, dry):
    """A release states what its dry run has stated."""
    real, said = release.guarantee, dry.guarantee
    assert (real.mechanism, real.theorem, real.proof) == (said.mechanism, said.theorem, said.proof)
    assert (real.unit, real.epsilon, real.delta) == (said.unit, said.epsilon, said.delta)
    common = {name: value for name, value in real.parameters.items() if name in said.parameters}
    assert common
    assert common == {name: said.parameters[name] for name in common}


def test_what_is_not_known_is_not_said():
    assert Expected().words("events") == "not known before data are read"
    assert Expected(25, 3, True).words("events") == (
        "A key or node of 25 events, counted above the floor of its sketch, is published with probability"
        " 0.95. Noise changes a published count by at most 3 with confidence 0.95."
    )


@pytest.mark.parametrize(
    ("kind", "delta"), [("count-sketch", 1e-6), ("count-min", None), ("count-min", 1e-6)]
)
def test_oracles_promise_what_was_foretold(kind, delta):
    asked = {"data": ["a"] * 900, "epsilon": 1.0, "delta": delta, "kind": kind, "width": 512}
    compare(hc.oracle(**asked), dry_run(*oracle_job(asked)))


def test_python_returns_what_prints_well(table):
    dry = hc.top(str(table), column="url", epsilon=1.0, delta=1e-8, dry_run=True)
    lines = str(dry).splitlines()
    assert lines[0] == "files        1"
    assert lines[1] == "columns      url (string)"
    assert lines[-1] == "dry run      No noise was drawn, and nothing was spent."
    assert max(map(len, lines)) <= 100
    assert "<tr><th>cost</th><td>epsilon 1, delta 1e-08</td></tr>" in dry._repr_html_()
    assert dry.ledger is None


def sketches():
    """Sketches in memory, with what releases them."""
    counters, tree = hc.SpaceSaving(counters=10), hc.HierarchySketch("path/2", counters=10)
    cells = hc.CountMin(depth=3, width=64, max_weight=1)
    for sketch in (counters, tree, cells):
        sketch.update(["/a/b"] * 900)
    return {
        "release": lambda **more: hc.release(counters, epsilon=0.3, delta=1e-8, **more),
        "levels": lambda **more: hc.release(tree, epsilon=0.3, delta=1e-8, **more),
        "tree": lambda **more: hc.tree(
            tree, hierarchy="path/2", threshold=2000, epsilon=0.3, delta=1e-8, **more
        ),
        "oracle": lambda **more: hc.oracle(cells, epsilon=0.3, **more),
    }


@pytest.mark.parametrize("name", sketches())
def test_sketches_in_memory_are_released_dry(name, spent, monkeypatch):
    call = sketches()[name]
    monkeypatch.setattr(running, "system_bits", lambda: pytest.fail("noise was drawn"))
    assert call(dry_run=True).guarantee.epsilon == 0.3
    dry = call(dry_run=True, run_id="nightly", **spent)
    assert dry.ledger.outcome == "charged"
    assert kinds(spent) == ["init"]


@pytest.fixture
def spent(location):
    Ledger(location).init("visits", Filter.fixed(1, "1e-6"))
    return {"ledger": location, "dataset": "visits"}


def kinds(spent):
    return [entry["kind"] for entry in history(spent["ledger"], "visits")]


JOBS = {
    "top": (hc.top, {}),
    "tree": (hc.tree, {"hierarchy": "path/2", "threshold": 300}),
    "streaming": (hc.tree, {"hierarchy": "path/2", "threshold": 300, "method": "streaming"}),
    "sample": (hc.sample, {"rate": 0.01}),
    "oracle": (hc.oracle, {"width": 64}),
}


@pytest.mark.parametrize("name", JOBS)
def test_a_dry_run_says_what_the_ledger_would_do_and_writes_nothing(name, table, spent):
    """Before the release, after it, and over the budget; what is left is what really is left."""
    call, options = JOBS[name]
    asked = {"column": "url", "epsilon": 0.3, "delta": 1e-8} | options | spent
    before = dump(spent)
    first = call(str(table), **asked, dry_run=True)
    assert dump(spent) == before
    assert first.ledger.outcome == "charged"
    assert str(first).count("would be charged epsilon 0.3 and delta 1e-8.") == 1
    call(str(table), **asked)
    (now,) = show(spent["ledger"])
    assert first.ledger.to_dict()["left"] == now["left"]
    before = dump(spent)
    again = call(str(table), **asked, dry_run=True)
    assert (again.ledger.outcome, again.ledger.to_dict()["charged"]["epsilon"]) == ("answered", "0")
    large = call(str(table), **asked | {"epsilon": 2.0}, dry_run=True)
    assert large.refused
    assert large.ledger.refusal.startswith("The budget of dataset visits, epsilon 1 and delta 1e-6, does not")
    assert " would fit. No data were read" in large.ledger.refusal
    assert dump(spent) == before
    with pytest.raises(BudgetExceeded) as refused:
        call(str(table), **asked | {"epsilon": 2.0})
    assert str(refused.value) == large.ledger.refusal


def dump(spent):
    return export(spent["ledger"])


@pytest.mark.usefixtures("no_noise")
def test_the_command_says_what_it_would_leave_or_why_it_would_be_refused(table, spent, capfd):
    words = ("top", table, "--column", "url", "--delta", "1e-8", "--dry-run")
    words += ("--ledger", spent["ledger"], "--dataset", "visits", "--epsilon")
    code, out, _ = answer(capfd, *words, "0.3")
    facts = dict(line.split("\t") for line in out.splitlines())
    assert code == 0
    assert facts["ledger"] == (
        "Dataset visits would be charged epsilon 0.3 and delta 1e-8. A further release with epsilon at most"
        " 0.7 and delta at most 4.9e-7 would then fit."
    )
    code, out, err = answer(capfd, *words, "1.5", "--json")
    said = json.loads(out)["ledger"]
    assert code == 1
    assert (said["outcome"], said["charged"]) == ("refused", {"epsilon": "0", "delta": "0"})
    assert json.loads(err)["error"] == {
        "message": said["refusal"],
        "kind": "BudgetExceeded",
        "exit_code": 1,
    }
    assert kinds(spent) == ["init"]


def test_a_dry_run_tells_of_unfinished_runs_and_of_schedules(table, spent):
    ledger = hc.Ledger(spent["ledger"])
    asked = {"column": "url", "epsilon": 0.1, "delta": 1e-8, "dry_run": True} | spent
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running.Run, "count", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            hc.top(str(table), **asked | {"dry_run": False, "run_id": "late"})
    assert hc.top(str(table), **asked, run_id="late").ledger.outcome == "taken over"
    with pytest.raises(LedgerError, match=r"^Run late asked another question of dataset visits"):
        hc.top(str(table), **asked | {"epsilon": 0.2}, run_id="late")
    ledger.schedule("visits", "nightly", releases=2, epsilon="0.1", delta="1e-8", total_delta="1e-7")
    paid = hc.top(str(table), **asked, run_id="nightly/1").ledger
    assert (paid.outcome, paid.to_dict()["charged"]) == ("paid", {"epsilon": "0", "delta": "0"})


def test_sketch_files_are_previewed_too(table, spent, tmp_path, capfd):
    path = tmp_path / "visits.hc"
    assert answer(capfd, "sketch", table, "--column", "url", "--output", path)[0] == 0
    words = ("release", path, *BUDGET, "--ledger", spent["ledger"], "--dataset", "visits", "--dry-run")
    code, out, _ = answer(capfd, *words)
    assert code == 0
    assert (
        "Dataset visits would be charged epsilon 1 and delta 1e-8. No further release would then fit." in out
    )
    assert kinds(spent) == ["init"]


def test_keys_are_foretold_by_who_holds_them_and_have_no_counts(tmp_path):
    """And what would be left is said in few digits."""
    import pandas as pd

    frame = pd.DataFrame({"who": range(90), "key": ["a"] * 90})
    hc.Ledger(tmp_path / "l.db").init("people", rho="0.5", delta="1e-6", unit="user")
    spending = {"ledger": tmp_path / "l.db", "dataset": "people", "run_id": "a"}
    found = hc.keys(frame, column="key", user="who", rho=0.05, delta=1e-9, dry_run=True, **spending)
    assert found.expected.error is None
    assert found.facts["expected"] == (
        "A key or node of 34 users who hold no other key is published with probability 0.95. Counts are not"
        " published."
    )
    assert found.facts["cost"] == "epsilon 1.88166, delta 1e-09 (rho = 0.05 in zCDP, but for delta)"
    said = found.facts["ledger"]
    assert said.startswith("Dataset people would be charged epsilon 1.881660292 and delta 1e-9. A further")
    assert len(said) < 200
    events = hc.keys(frame, column="key", epsilon=1.0, delta=1e-9, dry_run=True)
    assert events.facts["expected"].startswith("A key or node of 23 events is published")
