import click

from hushcount.cli.main import program
from hushcount.cli.wording import command_of, in_options

TOP = command_of(program, ["top", "a.csv", "--epsilon", "1"])


def test_the_words_lead_to_the_command():
    assert TOP.name == "top"
    assert command_of(program, ["oracle", "merge", "a", "b"]).name == "merge"
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
