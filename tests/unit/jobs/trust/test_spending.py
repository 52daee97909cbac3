"""Releases that go through a ledger: charged before data are read, stored before anything leaves."""

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.accounting.checks import verify
from hushcount.accounting.filter import Filter
from hushcount.accounting.inspection import history, show
from hushcount.accounting.ledger import Ledger
from hushcount.cli.main import main
from hushcount.errors import BudgetExceeded, DataError, LedgerError, NotProvedError, ParameterError
from hushcount.jobs import run as job
from hushcount.releases.release import Release

BUDGET = {"epsilon": 0.3, "delta": 1e-8}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HUSHCOUNT_LEDGER", raising=False)
    lines = [f"2026-11-{15 + place % 2}T06:00:00Z,/{'ab'[place % 2]},{place}" for place in range(800)]
    Path("visits.csv").write_text("\n".join(["time,url,user", *lines, ""]))


@pytest.fixture
def spent(location):
    Ledger(location).init("visits", Filter.fixed(1, "1e-6"))
    return {"ledger": location, "dataset": "visits"}


def kinds(spent):
    return [entry["kind"] for entry in history(spent["ledger"], "visits")]


def used(spent):
    return show(spent["ledger"], "visits")[0]["spent"]["basic_epsilon"]


def top(spent, **more):
    return hc.top("visits.csv", **(BUDGET | {"column": "url"} | spent | more))


JOBS = {
    "top": (hc.top, {}),
    "domain": (hc.top, {"delta": 0, "domain": ["/a", "/b"]}),
    "range": (hc.top, {"delta": 0, "domain": "0..99", "column": "user", "key_type": "int"}),
    "tree": (hc.tree, {"hierarchy": "path/2", "threshold": 300}),
    "streaming": (hc.tree, {"hierarchy": "path/2", "threshold": 300, "method": "streaming"}),
    "sample": (hc.sample, {"rate": 0.01}),
    "oracle": (hc.oracle, {"width": 64}),
    "keys": (hc.keys, {}),
}


@pytest.mark.parametrize("name", JOBS)
def test_every_job_is_charged_once_and_answered_alike(spent, name):
    call, options = JOBS[name]
    asked = BUDGET | {"column": "url"} | options | spent
    first = call("visits.csv", **asked)
    assert kinds(spent) == ["init", "reserve", "commit"]
    again = call("visits.csv", **asked)
    assert again.to_json() == first.to_json()
    assert type(again) is type(first)
    assert kinds(spent) == ["init", "reserve", "commit"]
    assert verify(spent["ledger"], {}) == []


def test_users_are_charged_in_a_ledger_of_users(location):
    Ledger(location).init("people", Filter.fixed(1, "1e-6"), "user")
    asked = {"ledger": location, "dataset": "people", "user": "user", "max_keys": 2}
    first = top(asked, epsilon=0.9)
    assert top(asked, epsilon=0.9).to_json() == first.to_json()
    with pytest.raises(LedgerError, match="A release that protects one event cannot be added up"):
        top({"ledger": location, "dataset": "people"})


def test_sketches_in_memory_need_a_name(spent):
    sketch = hc.SpaceSaving(counters=10)
    sketch.update(["a"] * 500)
    tree = hc.HierarchySketch("path/2", counters=10)
    tree.update(["/a/b"] * 900)
    cells = hc.CountMin(depth=3, width=64, max_weight=1)
    cells.update(["a"] * 500)
    for name, call in {
        "sketch": lambda more: hc.release(sketch, epsilon=0.1, delta=1e-8, **more),
        "tree": lambda more: hc.release(tree, epsilon=0.1, delta=1e-8, **more),
        "cells": lambda more: hc.oracle(cells, epsilon=0.1, **more),
    }.items():
        with pytest.raises(ParameterError, match=r"^run_id must name the run"):
            call(spent)
        first = call(spent | {"run_id": name})
        assert call(spent | {"run_id": name}).to_json() == first.to_json()
    assert 0.3 <= float(used(spent)) < 0.301
    assert kinds(spent) == ["init"] + ["reserve", "commit"] * 3


def test_over_budget_nothing_is_read(spent, monkeypatch):
    monkeypatch.setattr(job.Run, "count", lambda *_: pytest.fail("a row was read"))
    with pytest.raises(BudgetExceeded) as refused:
        top(spent, epsilon=1.5)
    assert str(refused.value) == (
        "The budget of dataset visits, epsilon 1 and delta 1e-6, does not allow a release with epsilon 1.5"
        " and delta 1e-8. A release with epsilon at most 1 and delta at most 5e-7 would fit. No data were"
        " read and nothing was spent; `hushcount ledger grant` adds to a budget."
    )
    assert kinds(spent) == ["init"]


def test_nothing_leaves_before_it_is_stored(spent, monkeypatch):
    """The commit fails: neither file nor answer is there, and a retry takes over without a second charge."""
    commit = Ledger.commit

    def fail(*_):
        assert not Path("top.csv").exists()
        raise DataError("The disk is full.")

    monkeypatch.setattr(Ledger, "commit", fail)
    with pytest.raises(DataError, match="The disk is full"):
        top(spent, output="top.csv", report="top.html")
    assert sorted(os.listdir()) == sorted(
        {"visits.csv", *(name for name in os.listdir() if "spent.db" in name)}
    )
    monkeypatch.setattr(Ledger, "commit", commit)
    top(spent, output="top.csv")
    assert Path("top.csv").exists()
    assert kinds(spent) == ["init", "reserve", "takeover", "commit"]


def test_limits_and_files_come_after(spent):
    whole = top(spent)
    assert top(spent, limit=1, confidence=0.5, output="top.json").to_dict()["rows"] is not None
    assert len(top(spent, limit=1)) == 1
    assert next(iter(top(spent, limit=1)))["count"] == next(iter(whole))["count"]
    assert len(top(spent, min_count=10**6)) == 0
    assert kinds(spent) == ["init", "reserve", "commit"]


@pytest.mark.parametrize(
    "change", [{"epsilon": 0.2}, {"delta": 1e-9}, {"mechanism": "dpss", "max_events": 1000}, {"counters": 50},
               {"on_bad": "fail"}, {"column": "user"}, {"window": "2026-11-15", "time": "time"}]
)  # fmt: skip
def test_another_question_is_another_run(spent, change):
    top(spent)
    top(spent, **change)
    assert kinds(spent) == ["init"] + ["reserve", "commit"] * 2


def test_a_name_has_one_question(spent):
    top(spent, run_id="nightly")
    with pytest.raises(LedgerError) as refused:
        top(spent, run_id="nightly", epsilon=0.2)
    assert str(refused.value) == (
        "Run nightly asked another question of dataset visits; give this one another run_id."
    )


def test_changed_files_are_refused_and_again_pays_again(spent):
    top(spent)
    with open("visits.csv", "a") as stream:
        stream.write("2026-11-15T06:00:00Z,/c,9\n")
    with pytest.raises(LedgerError, match="was answered from other data: the files have changed since"):
        top(spent)
    top(spent, again=True)
    assert used(spent) == "0.6"


def test_moved_files_are_the_same_files(spent):
    first = top(spent)
    os.rename("visits.csv", "other.csv")
    again = hc.top("other.csv", column="url", **BUDGET, **spent)
    assert again.to_json() == first.to_json()


def test_an_error_after_the_draw_is_the_answer(spent, monkeypatch):
    def fail(*_):
        raise DataError("Keys cannot be shown.")

    with monkeypatch.context() as patch:
        patch.setattr(Release, "with_keys", fail)
        with pytest.raises(DataError, match=r"^Keys cannot be shown\.$"):
            top(spent)
    with pytest.raises(DataError, match=r"^Keys cannot be shown\.$"):
        top(spent)
    assert kinds(spent) == ["init", "reserve", "commit"]


def test_an_error_before_the_draw_is_no_answer(spent):
    with pytest.raises(DataError, match="max_events"):
        top(spent, max_events=10)
    assert kinds(spent) == ["init", "reserve"]


def test_disjoint_nights_cost_one_night():
    """The same rule as in `test_nights_cost_one_night_and_overlapping_windows_add_up`, with real releases."""
    Ledger("spent.db").init("visits", Filter.fixed("0.3", "1e-6"))
    for day in range(1, 15):
        window = f"2026-11-{day:02}"
        top({"ledger": "spent.db", "dataset": "visits"}, window=window, time="time")
    assert show("spent.db")[0]["spent"]["epsilon"] == "0.3"
    assert show("spent.db")[0]["releases"] == "14"


def test_windows_keep_their_rows(spent):
    first = top(spent, window="2026-11-15", time="time")
    second = top(spent, window="2026-11-16", time="time")
    assert (first["/a"]["count"] > 300, "/b" in first) == (True, False)
    assert (second["/b"]["count"] > 300, "/a" in second) == (True, False)
    assert used(spent) == "0.3"
    top(spent, window="2026-11-01/2026-12-01", time="time")
    assert used(spent) == "0.6"


OTHER_CLOCK = (
    "The windows of dataset visits are told by column time, in UTC where a time has no zone. By another"
    " column or zone a row could be in two windows that seem apart, so those cannot be used; without a window"
    " the release is charged for all times."
)
DAY_AFTER = "2026-11-16T00:00:00Z/2026-11-17T00:00:00Z"


@pytest.mark.parametrize(
    "other",
    [
        {"time": "sent", "window": "2026-11-16"},  # a row of the 15th may have been sent on the 16th
        {"time": "time", "window": DAY_AFTER, "time_zone": "America/Los_Angeles"},  # 23:30 is 07:30Z there
    ],
)
def test_windows_are_told_by_one_column_and_zone(spent, other, capfd):
    """Otherwise one row is in two windows that do not overlap, and is charged once for both."""
    row = "2026-11-15T23:30:00,2026-11-16T01:00:00Z,/a\n"
    Path("night.csv").write_text("time,sent,url\n" + row * 800)
    night = spent | BUDGET | {"column": "url", "epsilon": 0.6}
    hc.top("night.csv", time="time", window="2026-11-15", **night)
    assert len(hc.top("night.csv", column="url", **BUDGET, **other)) == 1  # the same rows are in it
    for dry_run in (True, False):
        with pytest.raises(LedgerError) as refused:
            hc.top("night.csv", dry_run=dry_run, **night, **other)
        assert str(refused.value) == OTHER_CLOCK
    options = [word for name, value in other.items() for word in (f"--{name.replace('_', '-')}", value)]
    assert main(["sketch", "night.csv", "--column", "url", "-o", "night.hc", *options]) == 0
    named = ["--ledger", spent["ledger"], "--dataset", "visits"]
    assert main(["release", "night.hc", "--epsilon", "0.3", "--delta", "1e-8", *named]) == 1
    assert OTHER_CLOCK in " ".join(capfd.readouterr().err.split())
    assert used(spent) == "0.6"
    hc.top("night.csv", time="time", window=DAY_AFTER, **night)
    assert used(spent) == "0.6"
    assert verify(spent["ledger"], {}) == []


def test_the_zone_is_part_of_the_question(location):
    """A window in UTC holds other rows if naive times are of another zone: it is no retry."""
    Ledger(location).init("people", Filter.fixed(1, "1e-6"), "user")
    Path("naive.csv").write_text(
        "time,url,user\n" + "".join(f"2026-11-16T03:00:00,/a,{n}\n" for n in range(900))
    )
    asked = BUDGET | {"ledger": location, "dataset": "people", "column": "url", "user": "user", "max_keys": 1}
    asked |= {"time": "time", "window": DAY_AFTER}
    assert len(hc.top("naive.csv", **asked)) == 1
    assert len(hc.top("naive.csv", **asked, time_zone="Asia/Tokyo")) == 0


def test_windows_need_no_ledger():
    assert "/b" not in top({}, window="2026-11-15", time="time", epsilon=1.0)


def test_a_sketch_file_keeps_its_window(spent):
    command = [
        "sketch",
        "visits.csv",
        "--column",
        "url",
        "--window",
        "2026-11-15",
        "--time",
        "time",
        "-o",
        "day.hc",
    ]
    assert main(command) == 0
    options = ["--epsilon", "0.3", "--delta", "1e-8", "--ledger", spent["ledger"], "--dataset", "visits"]
    assert main(["release", "day.hc", *options]) == 0
    assert main(["release", "day.hc", *options]) == 0
    entries = history(spent["ledger"], "visits")
    assert [entry["kind"] for entry in entries] == ["init", "reserve", "commit"]
    assert entries[1]["window"] == "2026-11-15T00:00:00Z/2026-11-16T00:00:00Z"


def test_the_environment_names_the_ledger(spent, monkeypatch):
    monkeypatch.setenv("HUSHCOUNT_LEDGER", spent["ledger"])
    with pytest.raises(ParameterError) as refused:
        top({})
    assert str(refused.value) == "dataset must name the budget of the ledger that this release spends."
    top({"dataset": "visits"})
    assert kinds(spent) == ["init", "reserve", "commit"]
    assert main(["sketch", "visits.csv", "--column", "url", "-o", "all.hc"]) == 0  # spends nothing


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"dataset": "a"}, "dataset, run_id and again need ledger, a file or postgresql://...."),
        ({"ledger": "a.db"}, "dataset must name the budget of the ledger that this release spends."),
        ({"window": "2026-11-15"}, "window needs time, the column that tells when a row is from."),
        ({"time": "time"}, "time and time_zone need window, a day or FROM/TO."),
        (
            {"window": "2026-11-15", "time": "time", "time_zone": "Nowhere"},
            "time_zone must be a name such as Europe/Zurich, got Nowhere.",
        ),
        (
            {"window": "2026-11-15", "time": "url"},
            "time must be another column than keys and users, got url.",
        ),
    ],
)
def test_options_that_need_others(options, sentence):
    with pytest.raises(ParameterError) as refused:
        top(options)
    assert str(refused.value) == sentence


def test_the_command_line(spent, capfd):
    options = ["--column", "url", "--epsilon", "0.3", "--delta", "1e-8", "--json"]
    ledger = ["--ledger", spent["ledger"], "--dataset", "visits"]
    assert main(["top", "visits.csv", *options, *ledger]) == 0
    first = json.loads(capfd.readouterr().out)
    assert main(["top", "visits.csv", *options, *ledger]) == 0
    assert json.loads(capfd.readouterr().out) == first
    assert main(["top", "visits.csv", *options, *ledger, "--again"]) == 0
    assert main(["top", "visits.csv", *options, *ledger, "--again"]) == 0
    assert main(["top", "visits.csv", *options, *ledger, "--again"]) == 1
    assert "A release with epsilon at most 0.1 and delta at most 4.7e-7 would fit." in capfd.readouterr().err
    assert used(spent) == "0.9"
    with open("visits.csv", "rb") as stream:
        assert stream.read(4) == b"time"


@pytest.mark.parametrize("name", JOBS)
def test_every_release_names_its_entry_and_is_found_in_the_ledger(spent, name):
    """In JSON, in the report, and by `verify`, also where the answer comes from the ledger."""
    call, options = JOBS[name]
    window = {"window": "2026-11-15", "time": "time"}
    asked = BUDGET | {"column": "url"} | options | spent | window | {"run_id": "nightly-2026-11-15"}
    for release in (call("visits.csv", **asked), call("visits.csv", **asked)):
        entry = json.loads(release.to_json())["made"]["options"]
        assert {key: entry[key] for key in ("dataset", "run_id", "window")} == {
            "dataset": "visits",
            "run_id": "nightly-2026-11-15",
            "window": "2026-11-15T00:00:00Z/2026-11-16T00:00:00Z",
        }
        Path("release.json").write_text(release.to_json())
        assert hc.verify("release.json", ledger=spent["ledger"]).holds
        release.report("report.html")
        assert (
            "Recorded in a ledger before the noise was drawn: dataset visits, run id nightly-2026-11-15,"
            " window 2026-11-15T00:00:00Z/2026-11-16T00:00:00Z." in Path("report.html").read_text()
        )


def drawing():
    """Every public call that draws noise, as a function of what it spends by."""
    keys, budget = ["tea"] * 50, {"epsilon": 0.1, "delta": 1e-8}
    cells, sketch = hc.CountMin(width=64, depth=2, max_weight=1), hc.SpaceSaving(8)
    counts, tree = hc.Exact(), hc.HierarchySketch("domain", counters=8)
    for each in (cells, sketch, counts):
        each.update(keys)
    tree.update(["a.b"] * 50)
    return {
        "top": lambda **more: hc.top(keys, **budget, **more),
        "top of users": lambda **more: hc.top(
            pa.table({"key": keys, "who": range(50)}), column="key", user="who", max_keys=1, **budget, **more
        ),
        "tree": lambda **more: hc.tree(["a.b"] * 50, hierarchy="domain", threshold=2000, **budget, **more),
        "sample": lambda **more: hc.sample(keys, rate=0.5, **budget, **more),
        "sample of a sketch": lambda **more: hc.sample(counts, rate=0.5, **budget, **more),
        "keys": lambda **more: hc.keys(keys, **budget, **more),
        "oracle": lambda **more: hc.oracle(keys, width=64, **budget, **more),
        "oracle of a sketch": lambda **more: hc.oracle(cells, epsilon=0.1, **more),
        "release": lambda **more: hc.release(sketch, **budget, **more),
        "release of a tree": lambda **more: hc.release(tree, threshold=2000, **budget, **more),
    }


@pytest.mark.parametrize("name", sorted(drawing()))
def test_every_call_that_draws_noise_is_charged_to_the_ledger_of_the_environment(name, spent, monkeypatch):
    monkeypatch.setenv("HUSHCOUNT_LEDGER", spent["ledger"])
    call, dataset = drawing()[name], "people" if "users" in name else "visits"
    if dataset == "people":
        hc.Ledger().init("people", epsilon=1, delta=1e-6, unit="user")
    with pytest.raises(ParameterError) as refused:
        call()
    assert str(refused.value) == "dataset must name the budget of the ledger that this release spends."
    with pytest.raises(ParameterError, match=r"^run_id must name the run"):
        call(dataset=dataset)
    before = hc.Ledger().show(dataset)[0]["spent"]["epsilon"]
    assert call(dataset=dataset, run_id="one", dry_run=True).ledger.outcome == "charged"
    assert hc.Ledger().show(dataset)[0]["spent"]["epsilon"] == before == "0"
    call(dataset=dataset, run_id="one")
    assert float(hc.Ledger().show(dataset)[0]["spent"]["epsilon"]) >= 0.1


def test_a_sketch_without_a_bound_on_weights_costs_nothing(spent):
    """It has no sensitivity, so an oracle of it is refused before its budget is charged, in a dry run too."""
    cells = hc.CountMin(width=64, depth=2)
    cells.update(["tea"] * 9)
    for dry in (True, False):
        with pytest.raises(NotProvedError, match=r"^noisy cells need a public bound on weights"):
            hc.oracle(cells, epsilon=0.1, run_id="one", dry_run=dry, **spent)
    assert kinds(spent) == ["init"]


def test_a_watch_is_charged_to_the_ledger_of_the_environment(spent, monkeypatch, tmp_path):
    monkeypatch.setenv("HUSHCOUNT_LEDGER", spent["ledger"])
    days = {"period": "1d", "start": "2026-10-01", "until": "2026-10-03"}
    hc.watch(tmp_path / "site.hw", **days, epsilon=0.5, delta=1e-8, dataset="visits")
    assert hc.Ledger().show("visits")[0]["spent"]["epsilon"] == "0.5"


@pytest.mark.parametrize("time", [None, "time"])
def test_a_watch_pays_for_nothing_but_its_periods(spent, tmp_path, time):
    """All its periods together were charged once, so another release in their name would be free."""
    days = {"period": "1d", "start": "2026-11-15", "until": "2026-12-15", "time": time, "column": "url"}
    watch = hc.watch(tmp_path / "site.hw", **days, epsilon=0.3, delta=1e-8, **spent)
    windows = [{}, {"window": "2026-11-15", "time": "time"}]
    for window in windows if time else windows[:1]:
        with pytest.raises(BudgetExceeded, match=r"^Schedule watch of dataset visits has paid for"):
            top(spent, run_id="watch/2026-11-15", **window)
    before = used(spent)
    watch.add("visits.csv")
    watch.close(tmp_path / "feed", "2026-11-15T00")
    with pytest.raises(BudgetExceeded, match=r"^Schedule watch of dataset visits has paid for"):
        top(spent, run_id="watch/2026-11-16")
    assert used(spent) == before
    assert verify(spent["ledger"], {}) == []


def test_without_a_ledger_in_the_environment_one_must_be_named(monkeypatch):
    monkeypatch.delenv("HUSHCOUNT_LEDGER", raising=False)
    with pytest.raises(ParameterError) as refused:
        hc.Ledger()
    assert str(refused.value) == "location must name the ledger, because HUSHCOUNT_LEDGER does not."
