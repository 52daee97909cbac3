"""The law of a watch of one key, for two streams at once: every transcript with its two probabilities.

Hidden noise is a vector of weights, one for each value that it may have; a transcript splits it. Noise of a
node whose counts differ is split where the ratio of its probabilities changes, so nothing is lost. Values of
the noise from REACH on are left out, of probability a^REACH.
"""

from dataclasses import dataclass, replace

import numpy as np

REACH = 64


def geometric(a, k):
    """P[v = k]."""
    return np.where(k >= 0, (1 - a) * a ** np.maximum(k, 0.0), 0.0)


def below(a, k):
    """P[v < k]."""
    return np.where(k > 0, 1 - a ** np.maximum(k, 0.0), 0.0)


def laplace(a, k):
    """P[DLap = k]."""
    return (1 - a) / (1 + a) * a ** abs(k)


def laplace_below(a, k):
    """P[DLap < k]."""
    return 1 - a**k / (1 + a) if k >= 1 else a ** (1 - k) / (1 + a)


@dataclass(frozen=True)
class Law:
    """A watch, or one of its twins: `a` = exp(-epsilon) of the gate, `nodes` that of each level by length."""

    a: float = 0.5
    tau: tuple = (6, 6, 6, 6)
    least: int = 1
    nodes: tuple = ()  # pairs of a length and exp(-epsilon_l)
    past: tuple = ()  # the same, for past nodes at entry
    retire: int = 0  # periods after its entry after which a key is retired, 0 for never
    # Twins.
    only_events: bool = False
    plain: bool = False  # r + v is published
    kept_noise: bool = False  # v is drawn once
    fresh_secret: bool = False
    recount: bool = False  # the period of entry is counted again
    before: bool = False  # nodes count from their start, before the entry
    repeated: bool = False  # after its entry a key is published again in each period, with its z
    sliding: int = 0
    keep_r: bool = False
    open_as_r: bool = False
    all_lives: bool = False
    only_rows: bool = False  # only periods with rows are closed
    silent: bool = False  # no row for a known key without events
    draws: int = 1  # how often a period is drawn

    def hidden(self):
        """The values of the hidden noise and their weights."""
        if self.kept_noise:
            values = np.arange(-REACH, REACH + 1)
            return values, (1 - self.a) / (1 + self.a) * self.a ** np.abs(values)
        values = np.arange(REACH)
        return values, geometric(self.a, values)

    def stays(self, h, r, t):
        """P[no entry] for each hidden value."""
        if r < self.least:
            return np.ones(len(h))
        if self.kept_noise:
            return (r + h < self.tau[t]) * 1.0
        if self.fresh_secret:
            return np.full(len(h), laplace_below(self.a, self.tau[t] - r))
        return below(self.a, self.tau[t] + h - r)

    def enters(self, h, r, t, y):
        """P[entry with y] for each hidden value."""
        if r < self.least:
            return np.zeros(len(h))
        if self.kept_noise:
            return (r + h == y) * 1.0
        if self.fresh_secret:
            return np.full(len(h), laplace(self.a, y - r))
        if self.plain:
            return geometric(self.a, y - r + 0 * h) * (y - h >= self.tau[t])
        return geometric(self.a, y + h - r)


@dataclass(frozen=True)
class Key:
    """One key in one stream: its events by period, and since when it waits or is known."""

    events: tuple
    waits: int = 0
    known: int | None = None  # the period of entry
    extra: int = 0  # what a twin keeps in r

    def r(self, law, t):
        start = max(self.waits, t + 1 - law.sliding) if law.sliding else self.waits
        return sum(self.events[start : t + 1]) + self.extra


def transcripts(law, one, two):
    """Yield the two probabilities of every transcript of two streams of events."""
    _, weights = law.hidden()
    yield from _period(law, 0, (Key(one), weights), (Key(two), weights))


def _period(law, t, p, q):
    if t == len(p[0].events):
        yield p[1].sum(), q[1].sum()
        return
    for one, two in step(law, t, p, q):
        yield from _period(law, t + 1, one, two)


def step(law, t, p, q):
    """Yield both sides after each outcome of a period."""
    if law.only_rows and any(key.events[t] == 0 for key, _ in (p, q)):
        if p[0].events[t] != q[0].events[t]:  # one of them says that there were rows
            yield _scaled((p, q), (1, 0))
            yield _scaled((p, q), (0, 1))
        else:
            yield p, q
    elif p[0].known is None:
        yield from _waiting(law, t, p, q)
    else:
        yield from _known(law, t, p, q)


def _scaled(sides, factors):
    return tuple((key, weights * factor) for (key, weights), factor in zip(sides, factors, strict=True))


def _waiting(law, t, p, q):
    """Split by the tests of a period."""
    h, fresh = law.hidden()
    sides, r = (p, q), (p[0].r(law, t), q[0].r(law, t))
    tested = [not law.only_events or key.events[t] > 0 for key, _ in sides]
    stay = [law.stays(h, r[i], t) if tested[i] else np.ones(len(h)) for i in (0, 1)]
    yield _scaled(sides, [each**law.draws for each in stay])
    values = range(law.tau[t], max(*r, law.tau[t]) + REACH)
    enter = {y: [law.enters(h, r[i], t, y) if tested[i] else 0 * h for i in (0, 1)] for y in values}
    first = list(enter.values()) if law.draws == 1 else list(_twice(stay, list(enter.values())))
    both = ([kept * factor for (_, kept), factor in zip(sides, each, strict=True)] for each in first)
    for weights in both if law.repeated else _merged(both, fresh / fresh.sum()):
        if sum(each.sum() for each in weights) > 0:
            known = [replace(key, known=t) for key, _ in sides]
            yield from _entered(law, t, tuple(zip(known, weights, strict=True)))


def _merged(entries, fresh):
    """Join entries whose two probabilities have one ratio; a new z is as hidden as if it were drawn here."""
    found = {}
    for weights in entries:
        one, two = (float(each.sum()) for each in weights)
        if one + two > 0:
            ratio = float(f"{one / (one + two):.12g}")
            before = found.get(ratio, (0.0, 0.0))
            found[ratio] = before[0] + one, before[1] + two
    for one, two in found.values():
        yield one * fresh, two * fresh


def _twice(stay, enter):
    """Two draws of one period with the same z."""
    for one in enter:
        yield [one[i] * stay[i] for i in (0, 1)]
        yield [stay[i] * one[i] for i in (0, 1)]
        yield from ([one[i] * two[i] for i in (0, 1)] for two in enter)


def _entered(law, t, sides):
    """Publish the past nodes at entry, or what a twin counts again of its period."""
    starts = [0 if law.all_lives else key.waits for key, _ in sides]
    pairs = []
    for length, a in law.past:
        for first in range(0, t + 1, length):
            counts = [
                sum(key.events[max(first, start) : min(first + length, t + 1)])
                for (key, _), start in zip(sides, starts, strict=True)
            ]
            pairs.append((counts, a))
    if law.recount:
        ending = [(length, a) for length, a in law.nodes if (t + 1) % length == 0]
        pairs += [([key.events[t] for key, _ in sides], a) for _, a in ending]
    yield from _noisy(sides, pairs)


def _noisy(sides, pairs):
    """Split by noisy counts, each a pair of counts in the two streams with its a."""
    if not pairs:
        yield sides
        return
    ((one, two), a), *rest = pairs
    for factors in _split(one, two, a):
        yield from _noisy(_scaled(sides, factors), rest)


def _split(one, two, a):
    """The pieces of the integers on which both probabilities of a noisy count have one ratio."""
    if one == two:
        yield 1.0, 1.0
        return
    low, high = min(one, two), max(one, two)
    yield laplace_below(a, low + 1 - one), laplace_below(a, low + 1 - two)
    for value in range(low + 1, high):
        yield laplace(a, value - one), laplace(a, value - two)
    yield 1 - laplace_below(a, high - one), 1 - laplace_below(a, high - two)


def _counted(law, key, first, t):
    """The events of a node, from its first period on, that are counted for a known key."""
    since = key.known if law.recount else key.known + 1
    return sum(key.events[first if law.before else max(first, since) : t + 1])


def _known(law, t, p, q):
    """Publish the nodes that end, then retire."""
    sides = (p, q)
    if law.silent and (p[0].events[t] == 0) != (q[0].events[t] == 0):
        yield _scaled(sides, (1, 0))
        yield _scaled(sides, (0, 1))
        return
    if law.repeated:
        yield from _again(law, t, sides)
        return
    pairs = []
    for length, a in law.nodes:
        if (t + 1) % length == 0:
            pairs.append(([_counted(law, key, t + 1 - length, t) for key, _ in sides], a))
    for split in _noisy(sides, pairs):
        yield tuple((_retired(law, key, t), weights) for key, weights in split)


def _again(law, t, sides):
    """Publish r + v - z again with the z of the entry."""
    h, _ = law.hidden()
    r = [key.r(law, t) for key, _ in sides]
    for y in range(min(r) - REACH // 2, max(r) + REACH // 2):
        yield _scaled(sides, [geometric(law.a, y + h - r[i]) for i in (0, 1)])


def _retired(law, key, t):
    if not law.retire or t < key.known + law.retire:
        return key
    extra = key.r(law, key.known) if law.keep_r else 0
    if law.open_as_r:
        open_nodes = [t - t % length for length, _ in law.nodes if (t + 1) % length]
        extra = sum(key.events[max(min(open_nodes), key.known + 1) : t + 1]) if open_nodes else 0
    return Key(key.events, t + 1, None, extra)


def divergence(law, one, two, e_epsilon):
    """The hockey-stick divergence of one stream from another."""
    return sum(max(p - e_epsilon * q, 0.0) for p, q in transcripts(law, one, two))


def pairs_of(law, one, two):
    """The two probabilities of all transcripts, as two arrays."""
    found = np.array(list(transcripts(law, one, two)))
    return found[:, 0], found[:, 1]


def adaptive(law, periods, most, e_epsilon, larger_first):
    """The largest divergence over all streams that react to what was published.

    In each period whoever makes the stream chooses up to `most` events, and once in all the one event more.
    """
    _, weights = law.hidden()

    def value(t, p, q, spent):
        if t == periods:
            return max(p[1].sum() - e_epsilon * q[1].sum(), 0.0)
        choices = [(count, more) for count in range(most + 1) for more in range(1 if spent else 2)]
        best = 0.0
        for count, more in choices:
            added = (count + more, count) if larger_first else (count, count + more)
            sides = [
                (replace(key, events=(*key.events, new)), kept)
                for (key, kept), new in zip((p, q), added, strict=True)
            ]
            outcomes = step(law, t, *sides)
            best = max(best, sum(value(t + 1, *each, spent or more == 1) for each in outcomes))
        return best

    return value(0, (Key(()), weights), (Key(()), weights), False)
