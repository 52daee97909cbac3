"""What a release is asked for: shares of epsilon."""

import pytest

from hushcount.errors import ParameterError
from hushcount.jobs.settings import asked_share


@pytest.mark.parametrize("share", [0, 1, -0.5, 2, float("nan"), float("inf")])
def test_shares_lie_between_0_and_1(share):
    with pytest.raises(ParameterError) as refused:
        asked_share(True, share)
    assert str(refused.value) == f"other_share must be strictly between 0 and 1, got {share}."


def test_a_share_is_asked_for_with_other_only():
    assert (asked_share(False, None), asked_share(True, None), asked_share(True, 0.2)) == (None, 0.05, 0.2)
    with pytest.raises(ParameterError) as refused:
        asked_share(False, 0.2)
    assert str(refused.value) == "other_share is what the noisy total takes of epsilon, so it needs other."
    with pytest.raises(ParameterError) as wrong:
        asked_share(True, True)
    assert str(wrong.value) == "other_share must be a number, got True."
