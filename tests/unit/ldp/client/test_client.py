"""The client and what it remembers. Its law: tests/privacy/test_ldp.py."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from threading import Barrier, BrokenBarrierError

import pytest
from tests.make_ldp_vectors import ENCODINGS, FOLDER, Fixed, manifests

from hushcount.errors import DataError, ManifestError, ParameterError
from hushcount.ldp.client.client import Client
from hushcount.ldp.client.state import ClientState
from hushcount.ldp.server.aggregator import Aggregator
from hushcount.ldp.wire.groups import Group
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.questions import Prefix
from hushcount.ldp.wire.report import parse

VECTORS = {
    version: json.loads((FOLDER / name).read_text())
    for version, name in {1: "ldp_reports.json", 2: "ldp_2_reports.json"}.items()
}
EXPIRES = 2_000_000_000


def campaign(epsilon, seed=0):
    group = Group(epsilon, 3, (Prefix(30, 16, 18),), (1 << 32,))
    return Manifest("tree_hist", ENCODINGS["words"], epsilon, (group,), 1000, EXPIRES, {}, bytes([seed] * 32))


def item_of(plain):
    if isinstance(plain, dict):
        return bytes.fromhex(plain["hex"]) if "hex" in plain else int(plain["integer"])
    return plain


@pytest.mark.parametrize(
    ("version", "name"), [(version, name) for version in VECTORS for name in manifests(version)]
)
def test_vectors(version, name):
    for row in VECTORS[version]["good"]:
        if row["manifest"] == name:
            bits = Fixed(bytes.fromhex(row["random"]))
            client = Client(manifests(version)[name], bytes.fromhex(row["nonce"]), bits=bits)
            assert client.report(item_of(row["item"]), now=0).hex() == row["report"]
            assert not bits.left


def test_nothing_heavy_is_loaded():
    program = """
import sys
from hushcount.ldp.client.client import Client
from hushcount.ldp.client.state import ClientState
from hushcount.ldp.wire.manifest import Manifest
for line in sys.stdin:
    manifest = Manifest.parse(line)
    report = Client(manifest, 7 if manifest.version == 1 else None, state=ClientState("8")).report("tea")
    assert len(report) in (18, 27, 81)
heavy = ("numpy", "numba", "pyarrow", "scipy", "duckdb", "pandas", "rich", "click")
print([name for name in heavy if name in sys.modules])
"""
    lines = "".join(
        manifest.to_json() + "\n" for version in (1, 2) for manifest in manifests(version).values()
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_report_is_of_its_campaign_and_nonce():
    manifest = campaign("2")
    assert parse(Client(manifest, 7).report("tea"), manifest).nonce == (7).to_bytes(16, "little")


def test_fresh_bits_are_used_by_default():
    manifest = campaign("2")
    assert len({Client(manifest, 7).report("tea") for _ in range(200)}) == 8


def test_a_campaign_is_answered_once():
    state, manifest = ClientState(), campaign("2")
    first = Client(manifest, 1, state=state).report("tea")
    assert {
        Client(manifest, nonce, state=state).report(item) for nonce in range(20) for item in ("milk", None)
    } == {first}
    client = Client(manifest, 5)
    assert len({client.report("tea") for _ in range(50)}) == 1


def test_an_edited_manifest_is_another_campaign():
    state = ClientState()
    first = Client(campaign("2"), 1, state=state).report("tea")
    assert Client(campaign("2", seed=1), 1, state=state).report("tea")[1:9] != first[1:9]
    assert state.spent == 4


def test_every_answer_spends_whatever_the_item():
    for item in ("tea", "does not fit", None):
        state = ClientState("3")
        Client(campaign("2"), 1, state=state).report(item)
        assert state.spent == 2


def test_a_campaign_beyond_the_budget_gets_a_uniform_report_that_spends_nothing():
    state = ClientState("3")
    Client(campaign("2"), 1, state=state).report("tea")
    beyond = campaign("1.5", seed=1)
    draws = bytes(8) + b"\x05" + bytes(15)  # the coin says truth: the word of a missing truth is sent
    report = Client(beyond, 2, state=state, bits=Fixed(draws)).report("tea")
    assert parse(report, beyond).symbols == (5,)
    assert state.spent == 2
    assert Client(beyond, 3, state=state).report("tea") == report
    Client(campaign("1", seed=2), 4, state=state).report("tea")
    assert state.spent == 3


@pytest.mark.parametrize("now", [EXPIRES, EXPIRES + 1e9])
def test_an_expired_campaign_is_refused(now):
    state = ClientState()
    for item in ("tea", None, "does not fit"):
        with pytest.raises(ManifestError) as error:
            Client(campaign("2"), 1, state=state).report(item, now=now)
        assert str(error.value) == "the campaign expired at 2033-05-18T03:33:20Z."
    assert state.spent == 0
    Client(campaign("2"), 1, state=state).report("tea", now=EXPIRES - 1)


def test_a_state_comes_back_from_json():
    state = ClientState("5")
    reports = [Client(campaign("2", seed), 1, state=state).report("tea") for seed in range(3)]
    again = ClientState.from_json(state.to_json())
    assert again.to_json() == state.to_json()
    assert again.budget == "5"
    assert again.spent == Fraction(4)
    assert [Client(campaign("2", seed), 9, state=again).report("milk") for seed in range(3)] == reports


def test_a_state_with_a_path_is_stored_before_the_report_is_handed_over(tmp_path):
    path = tmp_path / "state.json"
    state = ClientState("8", path=path)
    report = Client(campaign("2"), 1, state=state).report("tea")
    assert Client(campaign("2"), 2, state=ClientState("8", path=path)).report("milk") == report
    assert oct(os.stat(path).st_mode & 0o777) == "0o600"


def test_a_report_that_cannot_be_stored_is_not_handed_over(tmp_path):
    state = ClientState("8", path=tmp_path / "gone" / "state.json")
    for _ in range(2):
        with pytest.raises(DataError) as error:
            Client(campaign("2"), 1, state=state).report("tea")
        assert (
            str(error.value) == f"Cannot write {tmp_path / 'gone' / 'state.json'}: no such file or directory."
        )
    assert state.spent == 0


def test_two_states_of_one_file_see_what_the_other_has_spent(tmp_path):
    one, other = (ClientState("3", path=tmp_path / "state.json") for _ in range(2))
    report = Client(campaign("2"), 1, state=one).report("tea")
    assert Client(campaign("2"), 2, state=other).report("milk") == report
    Client(campaign("2", seed=1), 3, state=other).report("tea")  # beyond the budget, so uniform
    assert other.spent == ClientState("3", path=tmp_path / "state.json").spent == 2
    assert Client(campaign("2", seed=1), 4, state=one).report("tea")[9] == 3


class Waiting:
    """Random bytes for which every thread first waits for the others."""

    def __init__(self, barrier):
        self.barrier = barrier

    def bytes(self, count):
        with suppress(BrokenBarrierError):
            self.barrier.wait(0.2)
        return os.urandom(count)


@pytest.mark.parametrize(("stored", "shared"), [(True, True), (True, False), (False, True)])
def test_threads_that_ask_at_once_get_one_report(tmp_path, stored, shared):
    path = tmp_path / "state.json" if stored else None
    states = [ClientState(path=path)] * 4 if shared else [ClientState(path=path) for _ in range(4)]
    bits = Waiting(Barrier(4))
    clients = [Client(campaign("2"), nonce, state=state, bits=bits) for nonce, state in enumerate(states)]
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(lambda client: client.report("tea"), clients))) == 1


def test_another_budget_than_the_stored_one_is_refused(tmp_path):
    path = tmp_path / "state.json"
    Client(campaign("2"), 1, state=ClientState("8", path=path)).report("tea")
    with pytest.raises(ParameterError) as error:
        ClientState(9.0, path=path)
    assert str(error.value) == "budget must be the stored one, 8, got 9."


def test_a_state_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(DataError) as error:
        ClientState("8", path=tmp_path)
    assert str(error.value) == f"Cannot read {tmp_path}: is a directory."


FILES = Path(__file__).parents[3] / "vectors" / "files"
STATE = (
    '{"budget":null,"reports":{"' + "ab" * 32 + '":{"epsilon":"2","report":"01' + "ab" * 8 + "00" * 9 + '"}},'
    '"version":1}'
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "5",
        "{}",
        '{"budget":null,"reports":{},"version":2}',
        '{"budget":null,"reports":[],"version":1}',
        '{"budget":"-1","reports":{},"version":1}',
        '{"budget":[],"reports":{},"version":1}',
        '{"budget":null,"reports":{"x":5},"version":1}',
        '{"budget":null,"reports":{"x":{}},"version":1}',
        STATE.replace("00", "0", 1),
        STATE.replace('"01ab', '"02ab'),
        STATE.replace('"01ab', '"01ac'),
        STATE.replace("ab" * 32, "ab" * 31),
        STATE.replace("ab" * 32, "x" * 64),
        STATE.replace('"2"', '"-2"'),
        STATE.replace('"2"', "2"),
    ],
)
def test_a_damaged_state_is_refused(text):
    with pytest.raises(DataError) as error:
        ClientState.from_json(text)
    assert str(error.value) == "the state of the client is damaged or of another version."


def test_no_flipped_bit_is_accepted(tmp_path):
    path = tmp_path / "state.json"
    state = ClientState("8", path=path)
    for manifest in manifests().values():
        Client(manifest, 7, state=state).report("tea", now=0)
    data = path.read_bytes()
    for place in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[place // 8] ^= 1 << place % 8
        with pytest.raises(DataError) as error:
            ClientState.from_json(bytes(flipped))
        assert str(error.value) == "the state of the client is damaged or of another version."


def test_a_state_without_a_checksum_still_loads(tmp_path):
    path = tmp_path / "state.json"
    path.write_bytes((FILES / "ldp_client_state_1.json").read_bytes())
    state = ClientState("8", path=path)
    campaign = Aggregator.load(FILES / "ldp_aggregator_1.hc").manifest
    assert state.spent == 2
    assert Client(campaign, 9, state=state).report("salt").hex() == "011e6fe1276186078f070000000000000007"


def test_the_state_that_the_damaged_ones_are_made_of_is_good():
    assert ClientState.from_json(STATE).spent == 2


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        (0, "budget: epsilon must be a finite number above 0, got 0."),
        (
            "x",
            "budget: epsilon must be a plain decimal above 0 and at most 20 with at most 18 places, got x.",
        ),
        (True, "budget: epsilon must be a number, got True."),
        (21, "budget: epsilon above 20 protects nobody, got 21."),
    ],
)
def test_bad_budgets(budget, text):
    with pytest.raises(ParameterError) as error:
        ClientState(budget)
    assert str(error.value) == text


def test_public_names():
    from hushcount import ldp

    assert dir(ldp) == sorted(ldp.__all__) == sorted(ldp._NAMES)
    assert all(hasattr(ldp, name) for name in ldp.__all__)
    with pytest.raises(AttributeError, match=r"module 'hushcount\.ldp' has no attribute 'nothing'"):
        _ = ldp.nothing


def test_a_client_draws_its_own_nonce():
    manifest = campaign("2")
    nonces = {parse(Client(manifest).report("tea"), manifest).nonce for _ in range(50)}
    assert len(nonces) == 50
    assert {len(nonce) for nonce in nonces} == {16}


def test_version_1_needs_the_nonce_of_the_collector():
    with pytest.raises(ParameterError) as error:
        Client(replace(campaign("2"), version=1))
    assert str(error.value) == "a campaign of version 1 needs the nonce that the collector gave the user."


def test_several_reports_are_kept_and_spend_once(tmp_path):
    manifest = replace(campaign("2"), epsilon="6", reports=3)
    state = ClientState("7", path=tmp_path / "state")
    sent = Client(manifest, state=state).report_items(["tea", "milk", "tea", "salt", "bread"])
    assert len(sent) == 3 * 27
    nonces = {parse(sent[start : start + 27], manifest).nonce for start in (0, 27, 54)}
    assert len(nonces) == 3
    again = ClientState("7", path=tmp_path / "state")
    assert Client(manifest, state=again).report("other") == sent
    assert again.spent == 6
    assert not again.affords(campaign("2", seed=5))


@pytest.mark.parametrize("nonce", [7, bytes(16), bytes(47)])
def test_given_nonces_are_one_for_each_report(nonce):
    with pytest.raises(ParameterError) as error:
        Client(replace(campaign("2"), epsilon="6", reports=3), nonce)
    assert str(error.value) == "nonce must be 48 bytes, 16 for each of 3 reports."
