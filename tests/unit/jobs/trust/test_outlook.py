"""What a plan says, in sentences and as plain values."""

from hushcount.jobs.trust.outlook import Outlook, TablePlan


def test_sentences_and_plain_values():
    outlook = Outlook(1.0, 12.4, 30, 4, 2)
    found = TablePlan(1000, 1e-6, outlook, "group", "because", 64, 128, 3.0, (outlook,), (outlook,))
    assert found.sentences == (
        "About 12 keys will be published when each user keeps 2 keys.",
        "A key of 30 users is published with probability 0.95.",
        "A published count is within 4 of the truth with confidence 0.95.",
        "Mechanism group: because.",
        "More counters would publish rarer keys: 128 instead of 64.",
    )
    same = {"epsilon": 1.0, "expected_keys": 12.4, "smallest_count": 30, "error": 4, "max_keys": 2}
    assert found.to_dict()["by_epsilon"] == [same]
    assert (found.epsilon, found.expected_keys, found.smallest_count, found.error) == (1.0, 12.4, 30, 4)
