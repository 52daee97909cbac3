import json

from tests.made import made
from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.releases.stored.documents import about, document


def test_floors_are_a_list_of_all_that_were_published():
    assert document(made("floor"))["floors"] == [made("floor").floor]
    assert len(document(made("shards"))["floors"]) == 2
    assert len(document(made("hierarchy-streaming"))["floors"]) == 5
    assert document(made("truncated-geometric"))["floors"] == []


def test_what_is_kept_beside_a_table_has_no_rows():
    values = about(made("floor"))
    assert values["rows"] is None
    assert values["guarantee"] == document(made("floor"))["guarantee"]
    assert {"keys", "counts", "digest"} & set(values) == set()
    assert "key 0" not in json.dumps(values)


def test_rows_are_those_of_the_table():
    release = made("sample")
    rows = document(release)["rows"]
    assert [row["count"] for row in rows] == release.table["count"].to_pylist()
    assert all(
        round(row["estimate"], 6) == round(estimate, 6)
        for row, estimate in zip(rows, release.table["estimate"].to_pylist(), strict=True)
    )


def test_unpublished_keys_leave_no_trace():
    """Equal noise on data that differ in rare keys gives equal documents, but for time and id."""

    def released(rare):
        sketch = hc.SpaceSaving(counters=64)
        sketch.update(["tea"] * 500 + ["milk"] * 300 + rare)
        return hc.release(sketch, epsilon=1.0, delta=1e-6, bits=SeededBits(3))

    first, second = (released(rare).to_dict() for rare in (["a secret", "b"], ["c", "another secret"]))
    for values in (first, second):
        del values["made"]["time"], values["made"]["id"], values["digest"]
    assert first == second
    assert [row["key"] for row in first["rows"]] == ["tea", "milk"]
    assert "secret" not in json.dumps(first)
