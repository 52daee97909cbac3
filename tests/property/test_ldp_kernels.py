"""The kernels of the local model equal the pure client, hashlib and obvious loops."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.seeded_bits import SeededBits

from hushcount.compiled.kernel import kernel
from hushcount.ldp._kernels import blake2s, tally
from hushcount.ldp._kernels.tally import walsh_hadamard
from hushcount.ldp.client.client import Client, truthful
from hushcount.ldp.client.client import assigned as ask
from hushcount.ldp.client.simulation import Items, respond_all
from hushcount.ldp.server.reports import NonceSet
from hushcount.ldp.server.tallies import GroupTallies, cells_of, cut, from_words, put_on_top, to_words
from hushcount.ldp.wire.encodings import Bytes, Integers, Words
from hushcount.ldp.wire.groups import ALL_SHARES, Group
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.questions import Chunk, CodeBit, Prefix, QuestionPlace, TaggedPrefix

SEED = bytes(range(32))
NEVER = 253_402_300_799
few = settings(max_examples=25, deadline=None)
nonces = st.integers(0, (1 << 64) - 1)


def parity(value):
    return value.bit_count() & 1


@kernel
def digests(state, low, high, group, out):
    """Write the words of sixteen digests of version 1, then those of the two digests of version 2."""
    blake2s.compress(state, low, np.uint32(group), out[0])
    blake2s.compress_wide(state, low, high, np.uint32(group), out[1])
    blake2s.compress_wide(state, low, high, np.uint32(group + (1 << 8)), out[2])


@few
@given(st.binary(min_size=32, max_size=32), st.lists(nonces, min_size=32, max_size=32), st.integers(0, 255))
def test_blake2s_is_that_of_hashlib(key, values, group):
    low, high = np.array(values, np.uint64).reshape(2, 16)
    out = np.empty((3, 8 * blake2s.LANES), np.uint32)
    digests(blake2s.key_state(key), low, high, group, out)
    words = out.reshape(3, 8, blake2s.LANES).transpose(0, 2, 1).astype("<u4")
    for i in range(16):
        first = values[i].to_bytes(8, "little")
        both = first + values[16 + i].to_bytes(8, "little")
        messages = [first + bytes((group,)), both + bytes((group, 0)), both + bytes((group, 1))]
        for message, found in zip(messages, words[:, i], strict=True):
            assert hashlib.blake2s(message, key=key).digest() == found.tobytes()


@few
@given(st.integers(0, 14), st.integers(0, 2**32))
def test_transform_is_its_definition(bits, seed):
    cells = np.random.default_rng(seed).integers(-1000, 1000, 1 << bits)
    masks = np.arange(1 << bits)
    transformed = cells.copy()
    walsh_hadamard(transformed)
    for c in {0, 1, (1 << bits) - 1, (1 << bits) // 3}:
        if c < 1 << bits:
            assert transformed[c] == (cells * (1 - 2 * (np.bitwise_count(masks & c).astype(int) & 1))).sum()
    walsh_hadamard(transformed)
    assert (transformed == cells << bits).all()


@few
@given(st.lists(st.integers(0, 40) | nonces, max_size=300), st.integers(1, 7))
def test_nonce_set_is_a_set(values, parts):
    held, seen = NonceSet(), set()
    for part in np.array_split(np.array(values, np.uint64), parts):
        fresh = held.add(part[:, None])
        for value, new in zip(part.tolist(), fresh.tolist(), strict=True):
            assert new == (value not in seen)
            seen.add(value)
    assert len(held) == len(seen)


def test_nonce_set_grows():
    for words in (1, 2):
        held = NonceSet(words)
        values = np.random.default_rng(1).integers(0, 1 << 64, (30_000, words), dtype=np.uint64)
        assert held.add(values).all()
        assert not held.add(values[::-1].copy()).any()
        assert len(held) == len(values)


def test_every_word_of_a_nonce_counts():
    held = NonceSet(2)
    rows = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [1, 0], [0, 0]], np.uint64)
    assert held.add(rows).tolist() == [True, True, True, True, False, False]
    assert len(held) == 4


@few
@given(st.integers(1, 200), st.data())
def test_words_of_items(width, data):
    values = data.draw(st.lists(st.integers(0, (1 << width) - 1), min_size=1, max_size=5))
    words = to_words(values, width)
    assert from_words(words) == values
    shift = data.draw(st.integers(0, width - 1))
    bits = data.draw(st.integers(1, width - shift))
    parts = cut(words, shift, bits, room=7)
    assert from_words(parts) == [value >> shift & ((1 << bits) - 1) for value in values]
    put_on_top(parts, bits, np.full(len(values), 77, np.uint32))
    assert from_words(parts) == [(value >> shift & ((1 << bits) - 1)) | 77 << bits for value in values]


QUESTIONS = [
    Prefix(15, 1, 15),
    Prefix(70, 4, 18),
    Prefix(64, 2, 9, 1),
    Prefix(33, 2, 32),
    TaggedPrefix(15, 9, 4, 18),
    TaggedPrefix(60, 9, 2, 16),
    Chunk(5, 0, 15),
    Chunk(5, 0, 15, 1, 3),
    Chunk(12, 40, 10, 2),
    CodeBit(9, tuple((i * 0x9E3779B97F4A7C15) % (1 << 72) | 1 for i in range(8)), 2),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
@few
@given(st.lists(st.integers(0, (1 << 72) - 1), min_size=1, max_size=6), st.data())
def test_cells_are_those_of_the_question(question, values, data):
    manifest = campaign(Integers(72), [question], 1)
    row = data.draw(st.integers(0, question.rows - 1))
    place = QuestionPlace(manifest.public, 72, 0, 0, row, data.draw(st.integers(0, (1 << 32) - 1)))
    cells, flips = cells_of(question, place, to_words(values, 72))
    assert list(zip(cells.tolist(), flips.tolist(), strict=True)) == [
        question.cell(value, place) for value in values
    ]


def campaign(encoding, questions, symbol_bits, epsilon="2", more=()):
    share = ALL_SHARES // len(questions)
    shares = [share] * (len(questions) - 1)
    group = Group(epsilon, symbol_bits, tuple(questions), (*shares, ALL_SHARES - sum(shares)))
    return Manifest("tree_hist", encoding, "9", (group, *more), 1000, NEVER, {}, SEED)


CAMPAIGNS = [
    campaign(Integers(72), [question for question in QUESTIONS if question.cell_bits < 32], 1, "0.2"),
    campaign(Words("abcdefghijklmnopqrstuvwxyz", 6), [Prefix(15, 1, 15), Prefix(30, 4, 18)], 3),
    campaign(Words("abcdefghijklmnopqrstuvwxyz", 6), [Prefix(30, 4, 12), TaggedPrefix(15, 9, 4, 16)], 5),
    campaign(Words("abcdefghijklmnopqrstuvwxyz", 6), [Prefix(30, 4, 12), Prefix(15, 1, 15)], 10, "6"),
    campaign(Bytes(8), [Prefix(18, 1, 18)], 2, "2", [Group("1", 3, (Prefix(72, 2, 10),), (ALL_SHARES,))]),
]
CAMPAIGNS += [replace(each, version=1) for each in (*CAMPAIGNS[:3], CAMPAIGNS[-1])]


class Dictated:
    """Random bytes for the pure client, group by group: sixteen first, then what the batch drew later."""

    def __init__(self, parts):
        self.parts = iter(parts)

    def bytes(self, count):
        part = next(self.parts)
        assert len(part) == count
        return part


class Recorded(SeededBits):
    """Seeded bits that remember what they gave."""

    def bytes(self, count):
        given_bytes = super().bytes(count)
        self.__dict__.setdefault("log", []).append(given_bytes)
        return given_bytes


@pytest.mark.parametrize("manifest", CAMPAIGNS, ids=range(len(CAMPAIGNS)))
def test_batch_client_is_the_pure_client(manifest):
    rng = np.random.default_rng(5)
    size, wire = 400, manifest.wire
    values = [int.from_bytes(rng.bytes(16), "little") % 3000 for _ in range(size)]
    chosen = [manifest.encoding.decode(value) for value in values]
    chosen[::17] = [None] * len(chosen[::17])
    asked = rng.integers(0, 1 << 64, (size, wire.nonce_bytes // 8), dtype=np.uint64)
    bits = Recorded(7)
    answers = respond_all(manifest, asked, Items.of(chosen, manifest.encoding), bits)
    log, drawn = list(bits.log), wire.draw_bytes
    assert len(log[0]) == drawn * size
    draws = [part for part in log if len(part) == drawn * size]
    starts = [log.index(draw) for draw in draws]
    more = [log[start + 1 : stop] for start, stop in zip(starts, [*starts[1:], len(log)], strict=True)]
    for i in range(size):
        parts = []
        for group in range(len(draws)):
            own = draws[group][drawn * i : drawn * (i + 1)]
            parts.append(own)
            q = manifest.groups[group]
            if int.from_bytes(own[:8], "little") >= q.probability and not lows(own[8:], q, wire)[1:].any():
                while True:
                    parts.append(more[group].pop(0))
                    if lows(parts[-1], q, wire).any():
                        break
        client = Client(manifest, asked[i].astype("<u8").tobytes(), bits=Dictated(parts))
        report = client.report(chosen[i])
        assert int.from_bytes(report[-wire.symbol_bytes :], "little") == answers[i]


def lows(octets, group, wire):
    """The low bits of random words."""
    return np.frombuffer(octets, f"<u{wire.symbol_bytes}") & (group.symbols - 1)


@pytest.mark.parametrize("manifest", CAMPAIGNS[:4], ids=["1 bit", "3 bits", "5 bits", "10 bits"])
def test_matches_count_the_reports_that_agree(manifest):
    rng = np.random.default_rng(6)
    asked = rng.integers(0, 1 << 64, 300, dtype=np.uint64)
    group = manifest.groups[0]
    symbols = rng.integers(0, group.symbols, 300).astype(np.uint16)
    tallies = GroupTallies(manifest, 0)
    tallies.add(asked[:100], symbols[:100])
    tallies.add(asked[100:], symbols[100:])
    found = tallies.questions()
    assert sum(tally.reports for tally in found) == 300
    expected = {}
    value = 31 << 5
    for nonce, y in zip(asked.tolist(), symbols.tolist(), strict=True):
        words = manifest.public.words(nonce.to_bytes(16, "little"), 0)
        number = next(i for i, stop in enumerate(group.cumulative) if stop > words[0])
        question = group.questions[number]
        row = words[1] * question.rows >> 32
        truth = truthful(manifest, value, 0, ask(manifest, nonce.to_bytes(16, "little"), 0))
        key = (number, row)
        expected[key] = expected.get(key, 0) + (group.symbols - 1 if truth == y else -1)
    for number, counted in enumerate(found):
        positions = len(counted.tables) // counted.question.rows
        for row in range(counted.question.rows):
            total = 0
            for position in range(positions):
                table = row * positions + position
                cells, flips = cells_of(
                    counted.question, counted.at(table), to_words([value], manifest.encoding.width)
                )
                total += (1 - 2 * int(flips[0])) * int(counted.matches[table, cells[0]])
            assert total == expected.get((number, row), 0)


def test_reports_are_brought_together_by_table():
    slots = np.random.default_rng(2).integers(0, 9, 1000).astype(np.int32)
    order, starts = np.empty(1000, np.int32), np.empty(10, np.int64)
    tally.order_by_table(slots, starts, order)
    assert (slots[order] == np.sort(slots)).all()
    assert (np.diff(starts) == np.bincount(slots, minlength=9)).all()
    assert sorted(order.tolist()) == list(range(1000))
