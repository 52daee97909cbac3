"""Plans against real releases: Zipf's law, and the words of two real texts."""

import re
import sysconfig
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import hushcount as hc
from hushcount.testing import seeded

RUNS = 4


def words_of_topics():
    """The words of Python's own help topics."""
    from pydoc_data.topics import topics

    return re.findall(r"[A-Za-z]+", " ".join(topics.values()))


def words_of_library():
    """The words of the modules of Python's standard library."""
    modules = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    return re.findall(r"[A-Za-z]+", " ".join(path.read_text(errors="replace") for path in modules))


def compare(stream_of, plan, epsilon, counters):
    """Release several streams and compare keys, errors and the smallest count with the plan."""
    published, errors, rare, near, found = [], [], [], 0, 0
    slack = max(1.0, 0.1 * plan.smallest_count)
    for run in range(RUNS):
        stream = stream_of(run)
        with seeded(run):
            release = hc.top(stream, epsilon=epsilon, delta=1e-8, counters=counters)
        true = Counter(stream.tolist())
        rows = dict(zip(release.keys.column(0).to_pylist(), release.counts.to_pylist(), strict=True))
        published.append(len(rows))
        errors += [abs(count - true[key]) for key, count in rows.items()]
        above = [key for key, count in true.items() if 0 <= count - plan.smallest_count <= slack]
        near, found = near + len(above), found + sum(key in rows for key in above)
        below = plan.smallest_count - slack  # keys of so many are not published with probability .95
        rare += [key in rows for key, count in true.items() if below - slack <= count <= below]
    assert np.mean(published) == pytest.approx(plan.expected_keys, rel=0.15)
    assert not rare or np.mean(rare) < 0.95
    assert near == 0 or found >= 0.95 * near - 3 * np.sqrt(near * 0.05)
    far = 3 * np.sqrt(0.05 * 0.95 / len(errors))
    assert np.mean(np.array(errors) <= 1.1 * plan.error) >= 0.95 - far
    assert np.mean(np.array(errors) < 0.9 * plan.error) <= 0.95 + far


@pytest.mark.parametrize("exponent", [0.8, 1.0, 1.4, 2.0])
@pytest.mark.parametrize(("epsilon", "counters"), [(1.0, 131072), (0.25, 2048), (4.0, 131072)])
def test_zipf(exponent, epsilon, counters):
    shares = np.arange(1, 100_001.0) ** -exponent
    shares /= shares.sum()
    plan = hc.plan(300_000, epsilon=epsilon, delta=1e-8, keys=f"zipf:{exponent}:100000", counters=counters)
    compare(
        lambda run: np.random.default_rng(run).choice(100_000, size=300_000, p=shares),
        plan,
        epsilon,
        counters,
    )


@pytest.mark.parametrize("words", [words_of_topics, words_of_library])
def test_real_words(words):
    """A public half foretells the table of the other half."""
    both = np.random.default_rng(1).permutation(np.array(words()))
    public, rest = both[: len(both) // 2], both[len(both) // 2 :]
    plan = hc.plan(len(rest), epsilon=1.0, delta=1e-8, keys=list(Counter(public.tolist()).values()))
    compare(lambda run: np.random.default_rng(run).permutation(rest), plan, 1.0, 131072)


@pytest.mark.parametrize("longest", [None, 400_000])
def test_a_public_domain(longest):
    """Half of the keys of the domain occur, and noise publishes some of the others."""
    shares = np.arange(1, 2001.0) ** -1.1
    stream = np.random.default_rng(1).choice(2000, size=300_000, p=shares / shares.sum())
    asked = {"epsilon": 1.0, "delta": 0.0, "counters": 8192, "domain": range(4000), "max_events": longest}
    plan = hc.plan(300_000, keys=list(np.bincount(stream)), **asked)
    with seeded(1):
        release = hc.top(stream, **asked)
    assert len(release) == pytest.approx(plan.expected_keys, rel=0.15)
    true = Counter(stream.tolist())
    rows = dict(zip(release.keys.column(0).to_pylist(), release.counts.to_pylist(), strict=True))
    reliable = [key for key, count in true.items() if count >= plan.smallest_count]
    assert np.mean([key in rows for key in reliable]) > 0.95
    errors = [abs(rows[key] - true[key]) for key in reliable if key in rows]
    assert np.quantile(errors, 0.95) == pytest.approx(plan.error, rel=0.1, abs=1)
