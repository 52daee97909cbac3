"""Local privacy, exactly: the law of every client's report for all pairs of items, and for no item."""

import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from tests.privacy.ldp_law import AskedAgain, Script, exp_between, largest_ratio, law

from hushcount import ldp
from hushcount.errors import ParameterError
from hushcount.ldp.client import client as client_module
from hushcount.ldp.client.client import Client
from hushcount.ldp.client.state import ClientState
from hushcount.ldp.wire.encodings import Integers
from hushcount.ldp.wire.groups import Group
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.questions import KINDS, Chunk, CodeBit, Prefix, TaggedPrefix
from hushcount.ldp.wire.response import ONE, exp_below, respond, response_probability
from hushcount.ldp.wire.versions import DRAWN, ISSUED, VERSIONS

ALL = 1 << 32
HALF = 1 << 31
ITEMS = [None, *range(8), 8, "unfit"]
NONCES = list(range(100, 108))
CODE = (0b001, 0b010, 0b100, 0b111)
QUESTIONS = {
    "whole item": Prefix(3, 1, 3),
    "short prefix": Prefix(2, 1, 2),
    "hashed prefix": Prefix(3, 4, 2),
    "signed hashed prefix": Prefix(3, 4, 2, 1),
    "signed item": Prefix(3, 1, 3, 1),
    "chunk": Chunk(1, 1, 2, 2),
    "chunk, top bits kept": Chunk(1, 2, 1, 2, 1),
    "code bit": CodeBit(2, CODE, 2),
    "code bit, top bits kept": CodeBit(2, CODE, 2, 2),
    "tagged prefix": TaggedPrefix(1, 2, 2, 2),
}


def campaign(groups, epsilon="2", seed=bytes(range(32)), **more):
    given = ("tree_hist", Integers(3), epsilon, tuple(groups), 1000, 2_000_000_000, {}, seed)
    return Manifest(*given, **more)


def one_group(epsilon, symbol_bits, *questions, **more):
    shares = (ALL,) if len(questions) == 1 else (HALF, HALF)
    return campaign([Group(epsilon, symbol_bits, questions, shares)], epsilon, **more)


def report_law(manifest, nonce, item, make=Client):
    """The law of the report of one item."""
    octets = range(max(group.symbols for group in manifest.groups))
    draws = len(manifest.groups) * manifest.reports
    return law(
        lambda bits: make(manifest, nonce, bits=bits).report(item, now=0), octets, draws, manifest.wire
    )


def worst(manifest, nonce, make=Client):
    return largest_ratio([report_law(manifest, nonce, item, make) for item in ITEMS])


def is_private(ratio, epsilon):
    """Whether a ratio is surely at most exp(epsilon); raises where the bounds cannot tell."""
    low, high = exp_between(Fraction(epsilon))
    if ratio is None or ratio > high:
        return False
    assert ratio <= low, "exp is not bounded closely enough"
    return True


CASES = [
    (name, epsilon, bits)
    for name, question in QUESTIONS.items()
    for epsilon, bits in [("0.5", 1), ("1", 2), ("2", 3)]
    if bits == 1 or not question.flips
] + [("signed hashed prefix", "2", 1), ("code bit", "2", 1)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("name", "epsilon", "bits"), CASES)
def test_every_pair_of_items(name, epsilon, bits, version):
    manifest = one_group(epsilon, bits, QUESTIONS[name], version=version)
    ratios = [worst(manifest, nonce) for nonce in NONCES]
    assert all(is_private(ratio, epsilon) for ratio in ratios)
    # And none is wasted: some nonce tells two items apart, and then the whole epsilon is spent.
    assert max(ratios) > exp_between(Fraction(epsilon))[1] * (1 - Fraction(1, 2**58))


def test_every_kind_of_question_is_among_them():
    assert {question.kind for question in QUESTIONS.values()} == set(KINDS)


def test_two_questions_in_a_group():
    manifest = one_group("2", 3, QUESTIONS["short prefix"], QUESTIONS["chunk"])
    assert all(is_private(worst(manifest, nonce), "2") for nonce in NONCES)


TWO_GROUPS = [
    Group("1", 1, (QUESTIONS["signed hashed prefix"],), (ALL,)),
    Group("1", 1, (QUESTIONS["code bit"],), (ALL,)),
]


def test_two_groups_compose():
    manifest = campaign(TWO_GROUPS)
    ratios = [worst(manifest, nonce) for nonce in NONCES]
    assert all(is_private(ratio, "2") for ratio in ratios)
    assert not is_private(max(ratios), "1.999999")


def test_groups_of_the_whole_epsilon_each_would_be_refuted_and_are_refused():
    groups = [Group("2", 1, group.questions, group.shares) for group in TWO_GROUPS]
    with pytest.raises(ParameterError) as error:
        campaign(groups)
    assert str(error.value) == "the epsilons of the groups must sum to at most 2."
    spending_twice = campaign(groups, "4")
    assert not all(is_private(worst(spending_twice, nonce), "2") for nonce in NONCES)


PAPER_MODES = {
    "ExplicitHist": lambda: ldp.ExplicitHist(Integers(3), epsilon="2", users=1000),
    "Hashtogram": lambda: ldp.Hashtogram(Integers(3), epsilon="2", users=1000, rows=3, cell_bits=2),
    "SuccinctHist": lambda: ldp.SuccinctHist(Integers(3), epsilon="2", users=1000, bucket_bits=1),
    "TreeHistPaper": lambda: ldp.TreeHistPaper(Integers(3), epsilon="2", users=1000, rows=3, cell_bits=2),
    "BitstogramPaper": lambda: ldp.BitstogramPaper(
        Integers(3), epsilon="2", users=1000, bucket_bits=1, rows=3, cell_bits=2
    ),
}


@pytest.mark.parametrize("mode", PAPER_MODES)
def test_modes_of_the_paper(mode):
    """Their own manifests: one response at epsilon, or two at half of it each."""
    manifest = replace(PAPER_MODES[mode]().manifest, seed=bytes(range(32)))
    ratios = [worst(manifest, nonce) for nonce in NONCES]
    assert all(is_private(ratio, "2") for ratio in ratios)
    assert not is_private(max(ratios), "1.999999")


@pytest.mark.parametrize("item", [None, 8, -1, "unfit", 2.5, True, b"", [], object()])
def test_no_item_and_every_unfit_one_are_uniform(item):
    manifest = one_group("2", 3, QUESTIONS["hashed prefix"])
    masses = report_law(manifest, NONCES[0], item)
    assert set(masses.values()) == {Fraction(1, 8)}
    assert len(masses) == 8
    assert {len(report) for report in masses} == {27}


class Odd:
    def __index__(self):
        raise RuntimeError("a number that fails")


def test_an_item_that_raises_is_uniform_too():
    manifest = one_group("2", 3, QUESTIONS["hashed prefix"])
    assert set(report_law(manifest, NONCES[0], Odd()).values()) == {Fraction(1, 8)}


# The response alone, with all 256 octets and for every size of a symbol.


def response_law(truth, symbol_bits, probability, answer=respond, wire=ISSUED):
    return law(lambda bits: answer(truth, symbol_bits, probability, bits, wire), range(256), 1, wire)


@pytest.mark.parametrize("wire", VERSIONS.values())
@pytest.mark.parametrize("symbol_bits", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("truth", [0, 1, None])
def test_response(symbol_bits, truth, wire):
    symbols = 1 << symbol_bits
    probability = response_probability("2", symbol_bits)
    expected = {symbol: Fraction(ONE - probability, ONE * (symbols - 1)) for symbol in range(symbols)}
    if truth is None:
        expected = {symbol: Fraction(1, symbols) for symbol in range(symbols)}
    else:
        expected[truth] = Fraction(probability, ONE)
    assert response_law(truth, symbol_bits, probability, wire=wire) == expected


def word_counts(truth, symbol_bits, coin, varied, answer=respond):
    """How often each symbol is the response, over all 65,536 values of the missing or replacing word."""
    found = Counter()
    for word in range(1 << 16):
        draw = (coin, word, 1) if varied == "missing" else (coin, 0, word)
        try:
            found[answer(truth, symbol_bits, 1 << 63, Script([draw]), DRAWN)] += 1
        except AskedAgain:
            found["again"] += 1
    return found


@pytest.mark.parametrize("symbol_bits", [6, 9, 10])
def test_every_word_of_a_wide_response(symbol_bits):
    """Coin below P: the truth. Else all others alike, and a word that changes nothing asks again."""
    symbols, times = 1 << symbol_bits, (1 << 16) >> symbol_bits
    last = (1 << 64) - 1
    assert word_counts(5, symbol_bits, 0, "replacing") == {5: 1 << 16}
    others = {symbol: times for symbol in range(symbols) if symbol != 5}
    assert word_counts(5, symbol_bits, last, "replacing") == others | {"again": times}
    uniform = dict.fromkeys(range(symbols), times)
    assert word_counts(None, symbol_bits, 0, "missing") == uniform
    assert word_counts(None, symbol_bits, last, "missing") == uniform


def byte_respond(truth, symbol_bits, probability, bits, wire=DRAWN):
    """The replacement by one byte, as in version 1, of a symbol of any size."""
    draw = bits.bytes(wire.draw_bytes)
    if int.from_bytes(draw[:8], "little") < probability:
        return truth
    return truth ^ (draw[10] & ((1 << symbol_bits) - 1))


def test_a_byte_never_moves_ten_bits():
    """The upper bits are always true: what is possible with one item never happens with another."""
    found = word_counts(5, 10, (1 << 64) - 1, "replacing", byte_respond)
    assert {symbol >> 8 for symbol in found} == {5 >> 8}
    honest = word_counts(5, 10, (1 << 64) - 1, "replacing")
    assert {symbol >> 8 for symbol in honest if symbol != "again"} == {0, 1, 2, 3}


class Octets:
    """The given bytes, in order."""

    def __init__(self, *parts):
        self.left = b"".join(parts)

    def bytes(self, count):
        taken, self.left = self.left[:count], self.left[count:]
        return taken


def test_the_replacement_is_the_first_octet_that_changes_the_symbol():
    never = b"\xff" * 8
    assert respond(2, 3, 5, Octets(never, bytes([0, 0, 8, 9, 3, 0, 0, 0])), ISSUED) == 3
    bits = Octets(never, bytes(8), bytes(8), bytes([0, 0, 0, 0, 0, 0, 0, 255]), b"left")
    assert respond(2, 3, 5, bits, ISSUED) == 5
    assert bits.left == b"left"
    bits = Octets(never, bytes(16), bytes(14) + b"\x00\x02", b"left")
    assert respond(2, 10, 5, bits, DRAWN) == 2 ^ 512
    assert bits.left == b"left"


EPSILONS = ["0.000001", "0.1", "0.5", "1", "1.0986122886681098", "2", "3.3", "4", "10", "20"]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("symbol_bits", range(1, 11))
def test_the_probability_is_the_largest_that_is_private(epsilon, symbol_bits):
    probability = response_probability(epsilon, symbol_bits)
    assert is_private(odds(probability, symbol_bits), epsilon)
    assert not is_private(odds(probability + 1, symbol_bits), epsilon)
    assert odds(probability, symbol_bits) > 1  # so that the inverse ratio is no concern


def odds(probability, symbol_bits):
    return Fraction(probability * ((1 << symbol_bits) - 1), ONE - probability)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_exp_below(epsilon):
    low, _ = exp_between(Fraction(epsilon), terms=300)
    assert low * (1 - Fraction(1, 2**150)) <= exp_below(Fraction(epsilon)) <= low


# Reports of several nonces and campaigns, by one user.


def reports(manifests, nonces, item, make_state):
    """One user's reports: one for each manifest and nonce, with one state."""

    def run(bits):
        state = make_state()
        return tuple(
            Client(manifest, nonce, state=state, bits=bits).report(item, now=0)
            for manifest in manifests
            for nonce in nonces
        )

    return run


def test_a_second_nonce_tells_nothing_more():
    manifest = one_group("1", 2, QUESTIONS["whole item"])
    for nonces in itertools.pairwise(NONCES):
        laws = [law(reports([manifest], nonces, item, ClientState), range(4)) for item in ITEMS]
        assert is_private(largest_ratio(laws), "1")


def other_campaign(epsilon):
    return campaign([Group(epsilon, 1, (QUESTIONS["whole item"],), (ALL,))], epsilon, bytes(32))


def test_campaigns_add_up():
    manifests = [one_group("1", 1, QUESTIONS["whole item"]), other_campaign("0.5")]
    laws = [law(reports(manifests, NONCES[:1], item, ClientState), range(2), 2) for item in ITEMS]
    assert is_private(largest_ratio(laws), "1.5")


def test_the_budget_holds_over_all_campaigns():
    manifests = [one_group("1", 1, QUESTIONS["whole item"]), other_campaign("0.5")]
    for nonce in NONCES:
        laws = [
            law(reports(manifests, [nonce], item, lambda: ClientState("1.2")), range(2), 2) for item in ITEMS
        ]
        assert is_private(largest_ratio(laws), "1")


# Clients that must be caught.


class MemoByNonce(ClientState):
    """Remembers reports by nonce: a second nonce gets a fresh report."""

    def report_of(self, manifest):
        return None


def test_a_memo_by_nonce_is_refuted():
    manifest = one_group("1", 2, QUESTIONS["whole item"])
    laws = [law(reports([manifest], NONCES[:2], item, MemoByNonce), range(4), 2) for item in ITEMS]
    assert not is_private(largest_ratio(laws), "1")


def test_a_probability_rounded_up_is_refuted():
    manifest = one_group("2", 3, QUESTIONS["whole item"])
    group = manifest.groups[0]
    object.__setattr__(group, "probability", group.probability + 1)
    assert not all(is_private(worst(manifest, nonce), "2") for nonce in NONCES)


def modulo_respond(truth, symbol_bits, probability, bits, wire):
    """The replacement by modulo: some symbols are rarer than others."""
    draw = bits.bytes(16)
    symbols = 1 << symbol_bits
    if truth is None:
        truth = draw[8] % symbols
    if int.from_bytes(draw[:8], "little") < probability:
        return truth
    return (truth + 1 + draw[9] % (symbols - 1)) % symbols


@pytest.mark.parametrize("symbol_bits", [2, 3, 4])
def test_a_replacement_by_modulo_is_refuted(symbol_bits):
    probability = response_probability("2", symbol_bits)
    truths = [None, 0, 1]
    laws = [response_law(truth, symbol_bits, probability) for truth in truths]
    assert is_private(largest_ratio(laws), "2")
    laws = [response_law(truth, symbol_bits, probability, modulo_respond) for truth in truths]
    assert not is_private(largest_ratio(laws), "2")


class SaysUnfit(Client):
    """Does not answer without an item that fits."""

    def report(self, item=None, *, now=None):
        report = super().report(item, now=now)
        return b"error" + report[25:] if self._encode(item) is None else report


def test_a_client_that_says_unfit_is_refuted():
    manifest = one_group("2", 3, QUESTIONS["whole item"])
    assert worst(manifest, NONCES[0], SaysUnfit) is None


def truthful_when_missing(truth, symbol_bits, probability, bits, wire):
    """Takes symbol 0 for a missing truth: private, but not uniform."""
    return respond(0 if truth is None else truth, symbol_bits, probability, bits, wire)


def test_the_check_of_uniform_symbols_can_fail(monkeypatch):
    monkeypatch.setattr(client_module, "respond", truthful_when_missing)
    manifest = one_group("2", 3, QUESTIONS["whole item"])
    masses = report_law(manifest, NONCES[0], None)
    assert set(masses.values()) != {Fraction(1, 8)}


def test_a_script_that_is_asked_for_other_octets_says_so():
    with pytest.raises(AskedAgain):
        respond(1, 3, 5, Script([((1 << 64) - 1, 0, 8)]))


# Several items of one user.


SETS = [(), (1,), (1, 6), (6, 1, 1), (2, 5, 7), ("unfit",), (9, 3)]


class Keyed(Script):
    """A script whose first 16 bytes are the key of the choice."""

    def __init__(self, key, script):
        super().__init__(script.draws, script.wire)
        self.key = key

    def bytes(self, count):
        if self.key is not None:
            assert count == 16
            key, self.key = self.key, None
            return key
        return super().bytes(count)


def set_law(manifest, items, keys=range(24), first=0):
    """The law of what a user with these items sends, with a few keys, all alike."""
    total = Counter()
    nonce = bytes([first, *range(16 * manifest.reports - 1)])
    for key in keys:

        def run(bits, key=bytes([key]) * 16):
            return Client(manifest, nonce, bits=Keyed(key, bits)).report_items(items, now=0)

        octets = range(manifest.groups[0].symbols)
        for report, mass in law(run, octets, manifest.reports).items():
            total[report] += mass / len(keys)
    return dict(total)


def test_one_chosen_item_of_several_costs_epsilon():
    manifest = one_group("1", 2, QUESTIONS["whole item"])
    assert is_private(largest_ratio([set_law(manifest, items) for items in SETS]), "1")


def test_the_choice_gives_every_item_its_turn():
    manifest = one_group("1", 2, QUESTIONS["whole item"])
    chosen = Counter()
    for key in range(256):
        client = Client(manifest, 7, bits=Keyed(bytes([key]) * 16, Script([])))
        chosen.update(client._chosen([2, 5, 5, 7, "unfit"]))
    assert set(chosen) == {2, 5, 7}
    assert min(chosen.values()) > 256 / 3 - 6 * (256 * 2 / 9) ** 0.5


def two_reports(epsilon, each):
    return campaign([Group(each, 1, (QUESTIONS["whole item"],), (ALL,))], epsilon, reports=2)


def test_two_reports_at_half_of_epsilon_each_cost_epsilon():
    manifest = two_reports("1", "0.5")
    pairs = [*SETS, *itertools.combinations(range(8), 2)]
    ratios = [largest_ratio([set_law(manifest, items, [0], first) for items in pairs]) for first in range(3)]
    assert all(is_private(ratio, "1") for ratio in ratios)
    assert not is_private(max(ratios), "0.999999")


def test_two_reports_at_the_whole_epsilon_each_would_be_refuted_and_are_refused():
    with pytest.raises(ParameterError) as error:
        two_reports("1", "1")
    assert str(error.value) == "the epsilons of the groups must sum to at most 1 / 2 reports."
    spending_twice = two_reports("2", "1")
    pairs = list(itertools.combinations(range(8), 2))
    laws = [[set_law(spending_twice, items, [0], first) for items in pairs] for first in range(3)]
    assert not all(is_private(largest_ratio(each), "1") for each in laws)
