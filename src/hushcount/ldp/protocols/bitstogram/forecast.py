"""What a campaign of Bitstogram is expected to find, before any data are collected. Pure Python.

Formulas: docs/ldp-bitstogram.md, section 5. Checked by: tests/unit/ldp/protocols/bitstogram/test_protocol.py
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hushcount.ldp.protocols.bitstogram.plan import FALSE_ITEMS, MISSED, Plan
from hushcount.ldp.protocols.campaign import Quality
from hushcount.ldp.wire.law import ResponseLaw, above
from hushcount.ldp.wire.manifest import THRESHOLD, Manifest
from hushcount.ldp.wire.questions import CodeBit, Question

REPORT_BYTES = 9 + 8 * 3  # of a report that the aggregator keeps, and of its nonce in the set of nonces
_SOFT = 0.75  # a decoder gains so many standard deviations for one of the signal (section 2, measured)


@dataclass(frozen=True, slots=True)
class Forecast:
    """The questions of a campaign, and what they can find among `users` users."""

    questions: tuple[Question, ...]
    needs: tuple[float, ...]
    shares: tuple[int, ...]
    users: int
    law: ResponseLaw
    threshold: float

    @classmethod
    def of(cls, plan: Plan, manifest: Manifest) -> Forecast:
        """Return the forecast of a plan in the campaign of a manifest."""
        law = ResponseLaw.of(manifest.groups[0])
        threshold = float(manifest.parameters[THRESHOLD])
        return cls(plan.questions, plan.needs, plan.shares, manifest.users, law, threshold)

    @property
    def deviation(self) -> float:
        """The standard deviation of the estimate of an item that nobody holds."""
        return math.sqrt(self.users * self.law.absent)

    @property
    def least_detectable(self) -> float:
        """The smallest count that is found reliably."""
        return self.deviation * math.sqrt(sum(self.needs))

    @property
    def memory(self) -> int:
        """Bytes of the aggregator's tables and of the reports that it keeps, once all users have reported."""
        cells = 0
        for question in self.questions:
            places = len(question.columns) if isinstance(question, CodeBit) else 1
            cells += question.rows * places << question.cell_bits
        return 8 * cells + self.users * REPORT_BYTES

    def chance_of(self, count: float, threshold: float | None = None) -> float:
        """Return the probability that an item is published: every question sees it, and its estimate does."""
        limit = self.threshold if threshold is None else threshold
        inside = min(count, self.users)
        chance = above((limit - count) / math.sqrt(self.law.variance(inside, self.users, self.users)))
        total = sum(self.needs)
        for question, need in zip(self.questions, self.needs, strict=True):
            signal = count / self.deviation * math.sqrt(need / total)
            slope = _SOFT if isinstance(question, CodeBit) else 1.0
            chance *= above(slope * (math.sqrt(need) - signal) - MISSED)
        return chance

    def quality(self, counts: Sequence[float], threshold: float | None = None) -> Quality:
        """Return the expected precision and recall if items had these counts."""
        limit = self.threshold if threshold is None else threshold
        heavy = [self.chance_of(count, limit) for count in counts if count >= limit]
        light = [self.chance_of(count, limit) for count in counts if count < limit]
        published = math.fsum(heavy) + math.fsum(light) + FALSE_ITEMS
        recall = math.fsum(heavy) / len(heavy) if heavy else 1.0
        return Quality(math.fsum(heavy) / published, recall, published, len(heavy))
