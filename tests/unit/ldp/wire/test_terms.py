"""The terms of a campaign: a central guarantee is claimed whole, with what it rests on, or not at all."""

import pytest

from hushcount.errors import ManifestError, ParameterError
from hushcount.ldp.wire.terms import PROMISE, Terms, delta_text

CLAIM = {
    "relay": "a relay",
    "min_batch": 1000,
    "central_epsilon": "0.5",
    "central_delta": "0.000001",
    "promise": PROMISE,
}
WHOLE = (
    "a central guarantee needs an epsilon, a delta, a relay, its promise and a smallest batch of at least 2."
)


def test_a_claim():
    assert Terms(**CLAIM).central == (0.5, 1e-6)
    assert Terms().central is None
    assert Terms.from_dict(Terms(**CLAIM).to_dict()) == Terms(**CLAIM)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"relay": ""}, WHOLE),
        ({"min_batch": 1}, WHOLE),
        ({"promise": ""}, WHOLE),
        ({"central_delta": ""}, WHOLE),
        ({"central_epsilon": ""}, WHOLE),
        ({"central_delta": "1e-9"}, "central_delta must be a plain decimal below 1 with at most 30 places."),
        (
            {"central_epsilon": "", "central_delta": ""},
            "promise is the relay's for a central guarantee, which is not claimed.",
        ),
        ({"collector": "x" * 1001}, "collector must have at most 1000 characters."),
        ({"collector": 5}, "collector must be text without halves of surrogate pairs."),
        ({"retention_days": -1}, "retention_days must be at least 0, got -1."),
        ({"min_batch": 2**33}, "min_batch must be at most 4294967296, got 8589934592."),
    ],
)
def test_bad_terms(changed, text):
    with pytest.raises(ParameterError) as error:
        Terms(**(CLAIM | changed))
    assert str(error.value) == text


def test_terms_of_a_manifest_have_all_fields():
    fields = Terms().to_dict()
    del fields["relay"]
    with pytest.raises(ManifestError) as error:
        Terms.from_dict(fields)
    assert str(error.value) == (
        "the terms must have the fields central_delta, central_epsilon, collector, min_batch, promise, relay,"
        " retention_days."
    )


def test_deltas_are_plain_decimals():
    assert delta_text(1e-12) == "0.000000000001"
