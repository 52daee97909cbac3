"""Tables that Spark counts are charged to a ledger like any other; a frame cannot be recognised."""

import pytest
from tests.spark_session import need_java, spark_session

import hushcount as hc
from hushcount.accounting.filter import Filter
from hushcount.accounting.inspection import history
from hushcount.accounting.ledger import Ledger
from hushcount.errors import ParameterError


def test_a_frame_is_charged_once_and_answered_alike(tmp_path):
    need_java()
    place = tmp_path / "spent.db"
    Ledger(place).init("visits", Filter.fixed(1, "1e-6"))
    asked = {"column": "key", "epsilon": 0.3, "delta": 1e-8, "shards": 2, "counters": 16}
    asked |= {"ledger": place, "dataset": "visits"}
    with spark_session("local[1]", tmp_path) as session:
        frame = session.createDataFrame([("a",)] * 500 + [("b",)] * 300, ["key"])
        with pytest.raises(ParameterError, match=r"^run_id must name the run"):
            hc.engines.spark.top(frame, **asked)
        first = hc.engines.spark.top(frame, **asked, run_id="nightly")
        assert hc.engines.spark.top(frame, **asked, run_id="nightly").to_json() == first.to_json()
    assert [entry["kind"] for entry in history(place, "visits")] == ["init", "reserve", "commit"]
