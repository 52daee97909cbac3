"""`hushcount explain` prints claim, assumptions and proof, or the list of mechanisms."""

from pathlib import Path

from hushcount.cli.main import main
from hushcount.jobs.trust.explain import names

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
