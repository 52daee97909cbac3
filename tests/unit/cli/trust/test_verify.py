import json
from pathlib import Path

from tests.made import made

from hushcount.cli.main import main
from hushcount.jobs.trust.explain import names


def run(capfd, *arguments):
    code = main(list(arguments))
    captured = capfd.readouterr()
    return code, captured.out, captured.err


def test_a_release_that_follows(capfd, tmp_path):
    made("floor").write(tmp_path / "t.json")
    code, out, err = run(capfd, "verify", str(tmp_path / "t.json"))
    assert (code, err) == (0, "")
    assert [line.split("\t")[0] for line in out.splitlines()] == [
        "digest: follows",
        "signature: not checked",
        "calibration: follows",
        "statements: follows",
        "threshold: follows",
        "proof: follows",
    ]


def test_a_release_that_was_changed(capfd, tmp_path):
    text = made("floor").to_json().replace('"delta":"1e-06"', '"delta":"1e-09"')
    (tmp_path / "t.json").write_text(text)
    code, out, _ = run(capfd, "verify", str(tmp_path / "t.json"), "--json")
    assert code == 1
    assert json.loads(out) == {
        "holds": False,
        "findings": [
            {
                "what": "file",
                "follows": False,
                "sentence": f"{tmp_path}/t.json is damaged: its contents do not match its digest.",
            }
        ],
    }


def test_a_missing_file(capfd, tmp_path):
    assert run(capfd, "verify", str(tmp_path / "t.json")) == (1, "", f"{tmp_path}/t.json does not exist.\n")


ROOT = Path(__file__).parents[4]


def test_one_mechanism(capfd):
    assert main(["explain", "laplace-threshold"]) == 0
    shown = capfd.readouterr()
    assert shown.err == ""
    claim, assumed, proof, empty, *page = shown.out.split("\n")
    assert claim.startswith("Claim: ")
    assert claim.endswith("(epsilon, delta)-DP.")
    assert assumed.startswith("Assumes: ")
    assert (proof, empty) == ("Proof: docs/proofs/histograms/laplace.md", "")
    assert "\n".join(page) == (ROOT / "docs/proofs/histograms/laplace.md").read_text()


def test_all_mechanisms(capfd):
    assert main(["explain"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split(": ")[0] for line in lines] == list(names())


def test_an_unknown_mechanism(capfd):
    assert main(["explain", "flor"]) == 2
    assert capfd.readouterr().err == f"mechanism must be one of {', '.join(names())}, got flor.\n"
