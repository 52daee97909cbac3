"""`hushcount plan`: tables, JSON, pictures and one sentence for what cannot be planned."""

import json

from hushcount.cli.main import main


def test_a_table_over_epsilon(capfd):
    assert main(["plan", "--rows", "1e6", "--epsilon", "1", "--delta", "1e-8", "--keys", "zipf:1.2:1e5"]) == 0
    shown = capfd.readouterr()
    lines = shown.out.splitlines()
    assert lines[0] == "epsilon\tkeys\tfrom a count of\terror"
    assert [line.split("\t")[0] for line in lines[1:]] == ["0.125", "0.25", "0.5", "1", "2", "4", "8"]
    assert "A key of 25 events is published with probability 0.95." in shown.err


def test_users_have_a_second_table(capfd):
    assert main(["plan", "--rows", "100000", "--epsilon", "1", "--delta", "1e-6", "--max-keys", "4"]) == 0
    assert "max keys\tkeys\tfrom a count of\terror" in capfd.readouterr().out


def test_json_and_a_picture(capfd, tmp_path):
    path = tmp_path / "p.svg"
    assert (
        main(
            ["plan", "--rows", "1e6", "--delta", "1e-8", "--want-count", "50", "--json", "--plot", str(path)]
        )
        == 0
    )
    found = json.loads(capfd.readouterr().out)
    assert found["smallest_count"] <= 50 < found["by_epsilon"][2]["smallest_count"]
    assert path.read_text().startswith("<svg")


def test_sentences_name_options(capfd):
    assert main(["plan", "--rows", "10", "--delta", "1e-8"]) == 2
    assert capfd.readouterr().err == (
        "--epsilon must be given, or one of --want-count, --want-keys and --want-error, for which it is"
        " found.\n"
    )
    assert main(["plan", "--rows", "1.5", "--delta", "1e-8"]) == 2
    assert "must be a whole number such as 1000000 or 1e6." in capfd.readouterr().err


def test_users_are_named_as_for_top(capfd):
    words = ["plan", "--rows", "100000", "--epsilon", "1", "--delta", "1e-6", "--user"]
    assert main([*words, "--max-keys", "4"]) == 0
    assert "when each user keeps 4 keys" in " ".join(capfd.readouterr().err.split())
    assert main(words) == 2
    assert capfd.readouterr().err == "--user needs --max-keys M, the most keys of each user that are kept.\n"


def test_a_public_domain(capfd):
    words = [
        "--rows",
        "1e6",
        "--epsilon",
        "1",
        "--delta",
        "0",
        "--domain",
        "1..1000000",
        "--counters",
        "1024",
    ]
    assert main(["plan", *words, "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["mechanism"], found["expected_keys"]) == ("pure", 1023)
