"""The container: what it writes, what it refuses, and files of earlier versions, which open for ever."""

import hashlib
import json
import shutil
import stat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.errors import DataError, SketchFileError
from hushcount.files import container
from hushcount.files.container import Contents
from hushcount.sketches.kinds import KINDS

FOLDER = Path(__file__).parents[2] / "vectors" / "files"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
SKETCHES = sorted(name for name in EXPECTED if name.endswith(".hc") and not name.startswith("oracle"))


def test_every_kept_sketch_is_expected():
    assert {path.name for path in FOLDER.glob("*.hc")} - {"ldp_aggregator_1.hc"} == {
        name for name in EXPECTED if name.endswith(".hc")
    }


def test_every_kind_of_sketch_is_kept():
    assert {container.read(FOLDER / name).kind for name in SKETCHES} == set(KINDS)


@pytest.mark.parametrize("name", SKETCHES)
def test_sketches_of_earlier_versions_open(name):
    said = EXPECTED[name]
    sketch = hc.load(FOLDER / name)
    assert (type(sketch).__name__, sketch.id, sketch.total) == (said["class"], said["id"], said["total"])
    if "estimates" in said:
        assert sketch.estimate(said["asked"]).tolist() == said["estimates"]
    if "key_type" in said:
        assert str(sketch.key_type) == said["key_type"]
    if "error_bound" in said:
        assert sketch.error_bound == said["error_bound"]
    if "error_bounds" in said:
        levels = [
            sketch.estimate(said["asked"], level=level).tolist() for level in range(len(said["error_bounds"]))
        ]
        assert levels == said["estimates_by_level"]
        assert list(sketch.error_bounds) == said["error_bounds"]
    if "members" in said:
        assert list(sketch.members) == said["members"]
    if "sampled" in said:
        assert (
            dict(zip(pa.array(sketch.keys).to_pylist(), sketch.counts.tolist(), strict=True))
            == said["sampled"]
        )
    if "scheme" in said:
        assert (sketch.scheme.name, sketch.seed, sketch.unit.name) == (said["scheme"], None, said["unit"])
    if "threshold" in said:
        assert (sketch.threshold, sketch.power, sketch.seed) == tuple(said["threshold"])
    if "keys" in said:
        assert sorted(sketch.shape().keys.to_pylist()) == said["keys"]


@pytest.mark.parametrize("name", SKETCHES)
def test_sketches_of_earlier_versions_are_written_as_they_were(name):
    if "position" not in EXPECTED[name]:
        assert hc.load(FOLDER / name).to_bytes() == (FOLDER / name).read_bytes()


def test_checkpoints_of_earlier_versions_keep_their_position():
    assert container.read(FOLDER / "checkpoint-v1.hc").position == EXPECTED["checkpoint-v1.hc"]["position"]


def test_oracles_of_earlier_versions_open():
    said = EXPECTED["oracle-v1.hc"]
    oracle = hc.Oracle.load(FOLDER / "oracle-v1.hc")
    assert oracle.estimate(["tea", "milk", "zinc"]).to_pydict() == said["table"]
    assert oracle.guarantee.to_dict() == said["guarantee"]
    assert list(oracle.notes) == said["notes"]


def test_states_of_collectors_of_earlier_versions_open():
    said = EXPECTED["ldp-aggregator-v1.state"]
    state = hc.ldp.Aggregator.load(FOLDER / "ldp-aggregator-v1.state")
    assert (state.manifest.id, state.reports, dict(state.refused)) == (
        said["campaign"],
        said["reports"],
        said["refused"],
    )
    assert state.collected().groups[0][0].tables.tolist() == said["tallies"]


def test_states_of_clients_of_earlier_versions_open(tmp_path):
    said = EXPECTED["ldp-client-v1.json"]
    path = shutil.copy(FOLDER / "ldp-client-v1.json", tmp_path)
    state = hc.ldp.ClientState(said["budget"], path=path)
    manifests = [hc.ldp.Manifest.parse(text) for text in said["manifests"]]
    assert str(state.spent) == said["spent"]
    assert {manifest.id: state.report_of(manifest).hex() for manifest in manifests} == said["reports"]


def test_the_earlier_magic_of_states_gives_fields_and_body():
    state = container.read(FOLDER / "ldp-aggregator-v1.state", "state")
    assert (state.kind, state.fields["reports"], len(state.arrays["body"])) == (
        "ldp-aggregator",
        501,
        9 * 501,
    )


ARRAYS = {
    "counts": np.array([1, -2, 2**63 - 1], np.int64),
    "words": np.array([2**64 - 1], np.uint64),
    "data": np.arange(5, dtype=np.uint8),
    "none": np.zeros(0, np.int64),
}
CONTENTS = Contents("example", {"size": 3, "text": "Grüße"}, ARRAYS, {"rows": 7})


@pytest.mark.parametrize("contents", [CONTENTS, Contents("empty", {})], ids=["full", "empty"])
def test_what_is_written_is_read(contents, tmp_path):
    path = tmp_path / "file"
    container.write(path, contents)
    for again in (container.read(path), container.read(path.read_bytes())):
        assert (again.kind, again.fields, again.position) == (
            contents.kind,
            contents.fields,
            contents.position,
        )
        assert again.arrays.keys() == contents.arrays.keys()
        for name, array in contents.arrays.items():
            assert again.arrays[name].dtype == array.dtype
            assert again.arrays[name].tolist() == array.tolist()
            assert again.arrays[name].flags.writeable


def test_files_are_for_their_owner_unless_said_otherwise(tmp_path):
    container.write(tmp_path / "raw", CONTENTS)
    container.write(tmp_path / "public", CONTENTS, 0o644)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("raw", "public")]
    assert modes == [0o600, 0o644]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["public", "raw"]


def refusal(source, what="sketch"):
    with pytest.raises(SketchFileError) as caught:
        container.read(source, what)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return str(caught.value)


def sealed(body):
    return body + hashlib.sha256(body).digest()


def test_refusals():
    data = container.encode(CONTENTS)
    assert refusal(b"") == "The sketch is not a hushcount sketch."
    assert refusal(b"PK\3\4" + data, "oracle") == "The oracle is not a hushcount oracle."
    assert refusal(data[:-1]) == "The sketch is damaged: its contents do not match its checksum."
    assert refusal(data[:20]) == "The sketch is damaged: its contents do not match its checksum."
    assert refusal(data[:8] + b"\2" + data[9:]) == (
        "The sketch was written by a newer hushcount (format 2, this one reads up to 1)."
    )
    misfit = "The sketch is damaged: its contents contradict each other."
    assert refusal(sealed(data[:8] + b"\0" + data[9:-32])) == misfit
    assert refusal(sealed(data[:-33])) == misfit
    assert refusal(sealed(data[:-32] + b"x")) == misfit
    assert refusal(sealed(data[:12] + b"\xff\xff\xff\xff" + data[16:-32])) == misfit


def test_every_changed_byte_is_noticed():
    data = container.encode(CONTENTS)
    for index in range(len(data)):
        changed = bytearray(data)
        changed[index] ^= 1
        refusal(bytes(changed))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match=r"^\S+/none does not exist\.$"):
        container.read(tmp_path / "none")
    with pytest.raises(DataError, match=r"^Cannot read \S+: is a directory\.$"):
        container.read(tmp_path)


def test_foreign_files_are_not_read_whole(tmp_path):
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # a file with holes: reading it would take a terabyte
    assert refusal(path) == f"{path} is not a hushcount sketch."
