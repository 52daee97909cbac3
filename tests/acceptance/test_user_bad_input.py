"""Users asked for wrongly: one sentence each, in Python and on the command line; and what is right."""

import pandas as pd
import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.cli.main import main
from hushcount.errors import DataError, ParameterError

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
ROWS = [(1, "a"), (2, "a"), (3, "b")]
TABLE = pa.table({"user": [user for user, _ in ROWS], "key": [key for _, key in ROWS]})
DOMAIN = {"domain": ["a", "b"], "delta": 0, "max_keys": 2}
REFUSED = {
    "user and key the same": (
        {"user": "key", "max_keys": 1},
        "user must be another column than the keys, got key.",
        "--user must be another column than the keys, got key.",
    ),
    "no keys": (
        {"max_keys": 0},
        "max_keys must be at least 1, got 0.",
        "--max-keys must be at least 1, got 0.",
    ),
    "auto with rows": (
        {"max_keys": "auto", "keep_duplicates": True},
        "max_keys = auto cannot be combined with keep_duplicates; give a number.",
        "--max-keys = auto cannot be combined with --keep-duplicates; give a number.",
    ),
    "a budget too small for auto": (
        {"max_keys": "auto", "epsilon": 1e-5},
        "epsilon must be at least 0.0002048 for max_keys = auto, got 1e-05.",
        "--epsilon must be at least 0.0002048 for --max-keys = auto, got 1e-05.",
    ),
    "exact counts with counters": (
        {"max_keys": 2, "exact": True, "counters": 9},
        "exact cannot be combined with counters, which asks for a sketch; leave one out.",
        "--exact cannot be combined with --counters, which asks for a sketch; leave one out.",
    ),
    "exact counts with a mechanism of sketches": (
        {"max_keys": 2, "exact": True, "mechanism": "correlated"},
        'exact cannot be combined with mechanism="correlated", which asks for a sketch; leave one out.',
        "--exact cannot be combined with --mechanism correlated, which asks for a sketch; leave one out.",
    ),
    "a least number of users with counters": (
        {"max_keys": 2, "min_users": 3, "counters": 9},
        "min_users cannot be combined with counters, which asks for a sketch; leave one out.",
        "--min-users cannot be combined with --counters, which asks for a sketch; leave one out.",
    ),
    "a domain with a delta": (
        {**DOMAIN, "delta": 1e-6},
        "delta must be 0 with a public domain, got 1e-06.",
        "--delta must be 0 with a public domain, got 1e-06.",
    ),
    "a domain with auto": (
        {**DOMAIN, "max_keys": "auto"},
        "domain cannot be combined with max_keys = auto; leave out one of them.",
        "--domain cannot be combined with --max-keys = auto; leave out one of them.",
    ),
    "a domain with exact counts": (
        {**DOMAIN, "exact": True},
        "exact cannot be combined with a public domain; leave out one of them.",
        "--exact cannot be combined with a public domain; leave out one of them.",
    ),
    "a domain with a least number of users": (
        {**DOMAIN, "min_users": 3},
        "min_users cannot be combined with a public domain; leave out one of them.",
        "--min-users cannot be combined with a public domain; leave out one of them.",
    ),
    "a domain with another mechanism": (
        {**DOMAIN, "mechanism": "gaussian"},
        "mechanism must be one of pure, pure-bounded with a domain, got gaussian.",
        "--mechanism must be one of pure, pure-bounded with a domain, got gaussian.",
    ),
}


def words(options, folder):
    """The same question as words of a command line."""
    (folder / "rows.csv").write_text("user,key\n" + "".join(f"{user},{key}\n" for user, key in ROWS))
    (folder / "domain.txt").write_text("a\nb\n")
    found = ["top", str(folder / "rows.csv"), "--column", "key"]
    for name, value in {"user": "user", **BUDGET, **options}.items():
        found.append(f"--{name.replace('_', '-')}")
        if value is not True:
            found.append(str(folder / "domain.txt") if name == "domain" else str(value))
    return found


@pytest.mark.parametrize("name", REFUSED)
def test_one_sentence_says_what_is_wrong(name, tmp_path, capsys):
    options, in_python, on_the_command_line = REFUSED[name]
    with pytest.raises(ParameterError) as refused:
        hc.top(TABLE, column="key", **{"user": "user", **BUDGET, **options})
    assert str(refused.value) == in_python
    assert main(words(options, tmp_path)) != 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", on_the_command_line + "\n")


def test_rows_without_a_user_are_dropped_and_the_release_says_so(tmp_path, capsys):
    keys, users = ["a"] * 400, [None if place % 2 else place for place in range(400)]
    table = pa.table({"user": pa.array(users, pa.int64()), "key": keys})
    release = hc.top(table, column="key", user="user", max_keys=1, confidence=1 - 1e-9, **BUDGET)
    assert "Rows without a user or a key are dropped." in release.notes
    row = release["a"]
    assert row["lower"] <= 200 <= row["upper"] < 400
    path = tmp_path / "rows.csv"
    path.write_text("user,key\n" + "".join(f"{'' if user is None else user},a\n" for user in users))
    asked = ["top", str(path), "--column", "key", "--user", "user", "--max-keys", "1"]
    assert main([*asked, "--epsilon", "1", "--delta", "1e-6"]) == 0
    assert "Rows without a user or a key are dropped." in capsys.readouterr().err


def test_users_of_mixed_kinds_are_refused_and_those_of_json_are_text(tmp_path, capsys):
    frame = pd.DataFrame({"user": [1, "x", 2.5], "key": ["a", "b", "c"]})
    with pytest.raises(DataError) as refused:
        hc.top(frame, column="key", user="user", max_keys=1, **BUDGET)
    assert str(refused.value) == (
        "The data mixes types, or holds none that can be keys; make them all text or whole numbers."
    )
    path = tmp_path / "rows.jsonl"
    path.write_text('{"user": 1, "key": "a"}\n{"user": "x", "key": "a"}\n')
    asked = ["top", str(path), "--column", "key", "--user", "user", "--max-keys", "1"]
    assert main([*asked, "--epsilon", "1", "--delta", "1e-6"]) == 0
    assert capsys.readouterr().out.split() == ["key", "count", "lower", "upper"]


@pytest.mark.parametrize(
    "more", [{}, {"counters": 64}, {"max_events": 5000}, {"keep_duplicates": True}, {"mechanism": "pure"}]
)
def test_a_public_domain_protects_users_by_noise_for_all_their_rows(more, tmp_path, capsys):
    options = {**DOMAIN, **more}
    release = hc.top(TABLE, column="key", **{"user": "user", **BUDGET, **options})
    assert (release.guarantee.unit.name, release.guarantee.delta) == ("user", 0.0)
    assert release.guarantee.mechanism.endswith("for groups of 2 rows")
    assert release.guarantee.parameters["row_epsilon"] == pytest.approx(0.5)
    note = "Route group: noise for 2 rows of a user together on every key of the domain."
    assert note in release.notes
    assert hc.verify(release.to_json().encode()).holds
    assert main(words(options, tmp_path)) == 0
    assert note in " ".join(capsys.readouterr().err.split())


def test_a_word_is_no_number_of_keys(tmp_path, capsys):
    assert main(words({"max_keys": "some"}, tmp_path)) != 0
    assert capsys.readouterr().err == "Invalid value for '--max-keys': 'some' is no whole number, nor auto.\n"


JOBS = {  # those that need a number of keys of a user
    "tree": (hc.tree, ["tree"], {"hierarchy": "path", "threshold": 500}),
    "sample": (hc.sample, ["sample"], {"rate": 0.1}),
    "oracle": (hc.oracle, ["oracle", "build"], {"output": "made.hc"}),
    "keys": (hc.keys, ["keys"], {}),
}
AUTO = "max_keys = auto is for a table of exact counts of users; give a number here."
MOST = "max_keys must be at most 1048576, got 2097152."


@pytest.mark.parametrize("asked", [("auto", AUTO), (1 << 21, MOST)])
@pytest.mark.parametrize("job", JOBS)
def test_every_job_says_what_numbers_of_keys_it_takes(job, asked, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (call, command, options), (max_keys, sentence) = JOBS[job], asked
    with pytest.raises(ParameterError) as refused:
        call(TABLE, column="key", user="user", max_keys=max_keys, **BUDGET, **options)
    assert str(refused.value) == sentence
    assert main([*command, *words({**options, "max_keys": max_keys}, tmp_path)[1:]]) != 0
    assert capsys.readouterr() == ("", f"--{sentence.replace('max_keys', 'max-keys')}\n")


@pytest.mark.parametrize(("max_keys", "sentence"), [("auto", AUTO), (1 << 21, MOST)])
def test_a_sketch_says_what_numbers_of_keys_it_takes(max_keys, sentence, tmp_path, capsys):
    _, path, *_ = words({}, tmp_path)
    asked = ["--column", "key", "--user", "user", "--max-keys", str(max_keys)]
    assert main(["sketch", path, *asked, "-o", str(tmp_path / "made.hc")]) != 0
    assert capsys.readouterr().err == f"--{sentence.replace('max_keys', 'max-keys')}\n"


def test_work_that_grows_with_the_keys_of_a_user_is_bounded_before_it_starts():
    """A billion keys of a user once took all memory before the first row was read."""
    for asked in ({"max_keys": 1 << 21}, {"max_keys": 1 << 21, "keep_duplicates": True}):
        with pytest.raises(ParameterError) as refused:
            hc.top(TABLE, column="key", user="user", **asked, **BUDGET)
        assert str(refused.value) == MOST
    with pytest.raises(ParameterError) as refused:
        hc.keys(TABLE, column="key", user="user", max_keys=20_000, method="weighted", **BUDGET)
    assert str(refused.value) == (
        "max_keys must be at most 16384 with method weighted, got 20000; steered and sips take up to 1048576."
    )


def test_other_commands_name_their_options_too(tmp_path, capsys):
    _, path, *_ = words({}, tmp_path)
    budget = ["--epsilon", "1", "--delta", "1e-6"]
    made = ["oracle", path, "--column", "key", "--user", "user", *budget, "-o", str(tmp_path / "made.hc")]
    assert main(made) != 0
    assert capsys.readouterr().err == (
        "--max-keys must be given with --user to count users; it has no default.\n"
    )
    assert main(["keys", path, "--column", "key", "--method", "sips", *budget]) != 0
    assert capsys.readouterr().err == (
        "--method needs --user, a column: it spreads the weight of each user over keys.\n"
    )


def test_the_help_says_that_a_domain_holds_for_users_too(capsys):
    assert main(["top", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "requires --delta 0; with --user the noise is for all rows of a user together." in said


def test_count_sketches_of_users_name_the_way_out(capsys, tmp_path):
    with pytest.raises(ParameterError) as refused:
        hc.oracle(TABLE, column="key", user="user", max_keys=2, kind="count-sketch", **BUDGET)
    sentence = "kind must be count-min with user: the signs of count-sketch would cancel within a user."
    assert str(refused.value) == sentence
    (tmp_path / "rows.csv").write_text("user,key\n1,a\n")
    asked = ["oracle", "build", str(tmp_path / "rows.csv"), "--column", "key", "--user", "user"]
    more = ["--max-keys", "2", "--kind", "count-sketch", "-o", str(tmp_path / "o.hc")]
    assert main([*asked, *more, "--epsilon", "1", "--delta", "1e-6"]) != 0
    assert capsys.readouterr().err == f"--{sentence}\n"


HUGE = ["9223372036854775807", "4611686018427387904", "9007199254740993"]


@pytest.mark.parametrize("number", HUGE)
@pytest.mark.parametrize(
    "asked",
    [
        (["top"], "--min-users"),
        (["tree", "--hierarchy", "path"], "--threshold"),
        (["tree", "--hierarchy", "path", "--method", "streaming"], "--threshold"),
    ],
    ids=["top", "tree", "streaming"],
)
def test_thresholds_to_which_no_noise_can_be_added_are_refused(asked, number, tmp_path, capsys):
    (command, option), (_, path, *_) = asked, words({}, tmp_path)
    user = ["--column", "key", "--user", "user", "--max-keys", "8", "--epsilon", "1", "--delta", "1e-6"]
    assert main([command[0], path, *command[1:], *user, option, number]) == 2
    assert capsys.readouterr() == ("", f"{option} must be at most 9007199254740992, got {number}.\n")


def test_a_confidence_that_cannot_be_told_from_0_is_refused():
    users = pa.table({"user": range(500), "key": ["tea"] * 500})
    with pytest.raises(ParameterError) as refused:
        hc.top(users, column="key", user="user", max_keys=8, confidence=1e-308, **BUDGET)
    assert str(refused.value) == "confidence must be strictly between 0 and 1, got 0."
