"""Files of reports into an aggregator: the state comes first, and nothing is kept of a bad run."""

import pytest
from tests.unit.ldp.server.test_aggregator import CAMPAIGN, many, packed

from hushcount.errors import DataError
from hushcount.ldp.server.aggregator import Aggregator
from hushcount.ldp.server.collection import Incoming, collect

GOOD = packed(*many(100))


@pytest.fixture
def files(tmp_path):
    (tmp_path / "good.bin").write_bytes(GOOD)
    (tmp_path / "bad.bin").write_bytes(bytes(18 * 101))
    return tmp_path


def test_the_state_keeps_all_reports(files):
    state = str(files / "state.hc")
    (files / "first.bin").write_bytes(GOOD[: 18 * 40])
    collect(CAMPAIGN, Incoming(files=[(str(files / "first.bin"), "packed")], state=state))
    whole = collect(CAMPAIGN, Incoming(files=[(str(files / "good.bin"), "packed")], state=state))
    assert (whole.reports, whole.refused["duplicate"]) == (100, 40)
    assert Aggregator.load(state).reports == 100


def test_a_bad_run_leaves_the_state_alone(files):
    state = files / "state.hc"
    collect(CAMPAIGN, Incoming(files=[(str(files / "good.bin"), "packed")], state=str(state)))
    before = state.read_bytes()
    (files / "more.bin").write_bytes(packed(*many(100, seed=4)))
    names = [(str(files / name), "packed") for name in ("bad.bin", "more.bin")]
    with pytest.raises(DataError) as caught:
        collect(CAMPAIGN, Incoming(files=names, state=str(state)))
    assert str(caught.value) == (
        "100 reports counted; refused: 101 of another version. Most reports were refused, so nothing was"
        " published."
        " Check MANIFEST, --report-format and the files."
    )
    assert state.read_bytes() == before


def test_half_is_not_most(files):
    (files / "bad.bin").write_bytes(bytes(18 * 100))
    names = [(str(files / name), "packed") for name in ("bad.bin", "good.bin")]
    assert collect(CAMPAIGN, Incoming(files=names)).reports == 100
