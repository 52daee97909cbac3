"""Every mechanism has a claim and a proof that can be found; an unknown name is refused."""

import pytest

from hushcount.errors import DataError, ParameterError
from hushcount.jobs.trust.explain import Explanation, explain, names


@pytest.mark.parametrize("name", names())
def test_every_proof_is_found(name):
    explanation = explain(name)
    assert explanation.claim.endswith(".")
    assert explanation.proof().startswith("# ")


def test_an_unknown_name_is_refused():
    with pytest.raises(ParameterError) as refused:
        explain("flor")
    assert str(refused.value) == f"mechanism must be one of {', '.join(names())}, got flor."


def test_a_page_that_is_not_there():
    with pytest.raises(DataError) as refused:
        Explanation("x", "Claim.", (), "docs/proofs/x.md").proof()
    assert str(refused.value) == "docs/proofs/x.md is missing from this installation."
