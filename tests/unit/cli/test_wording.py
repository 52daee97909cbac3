import click

from hushcount.cli.main import main, program
from hushcount.cli.wording import command_of, in_options

TOP = command_of(program, ["top", "a.csv", "--epsilon", "1"])


def test_the_words_lead_to_the_command():
    assert TOP.name == "top"
    assert command_of(program, ["oracle", "merge", "a", "b"]).name == "merge"
    assert command_of(program, ["oracle", "a.csv", "--epsilon", "1"]).name == "build"
    assert command_of(program, []) is program


def test_parameters_become_options():
    assert in_options("max_keys must be at least 1, got 0.", TOP) == "--max-keys must be at least 1, got 0."
    assert in_options("delta must be strictly between 0 and 1, got 2.", TOP).startswith("--delta must")
    assert in_options('use mechanism="floor" for one stream.', TOP) == "use --mechanism floor for one stream."
    assert in_options("allow_large_delta=True takes it.", TOP) == "--allow-large-delta takes it."


def test_words_and_names_of_columns_stay():
    for sentence in (
        "Column 'who' is not in the file; it has: key, user.",
        "Protects one user, not one event.",
        "The column of each user is user.",
    ):
        assert in_options(sentence, TOP) == sentence


def test_commands_without_options():
    assert in_options("epsilon must be given.", click.Command("none")) == "epsilon must be given."


def test_sentences_of_a_release_name_options(tmp_path, capsys):
    """A sketch without a public bound: the sentence that names max_events in Python."""
    path = tmp_path / "keys.csv"
    path.write_text("key\n" + "tea\n" * 500)
    asked = ["top", str(path), "--epsilon", "1", "--delta", "1e-6", "--mechanism", "pmg"]
    assert main(asked) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "count is a lower estimate; --max-events would bound what the sketch left out of it." in said
    assert "max_events" not in said
    assert main([*asked, "--max-events", "1000", "--counters", "10"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "of it, by --max-events and its counters." in said


def test_users_are_told_of_their_options(tmp_path, capsys):
    path = tmp_path / "keys.csv"
    path.write_text("user,key\n" + "".join(f"{user},tea\n" for user in range(500)))
    asked = ["top", str(path), "--column", "key", "--user", "user", "--epsilon", "1", "--delta", "1e-6"]
    assert main([*asked, "--max-keys", "auto"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "--max-keys is chosen for 4% of epsilon, and what it kept is said for 1%." in said
    assert "max_keys" not in said
