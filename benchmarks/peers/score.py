"""How good a published table is, beside the true counts."""

from __future__ import annotations

from typing import Any

import numpy as np

FREQUENT = 1000


def score(published: dict[str, Any], true: dict[str, int]) -> dict[str, Any]:
    """Return how many keys are published, how many of them are none, recall, and the median error in counts.

    Recall is the share of the FREQUENT most frequent keys that are published (of all keys if there are
    fewer). The error is the median of |published - true| over those that are, `null` where no counts are
    published.
    """
    keys, counts = published["keys"], published["counts"]
    frequent = sorted(true, key=lambda key: (-true[key], key))[:FREQUENT]
    given = dict(zip(keys, counts or keys, strict=True))
    found = [key for key in frequent if key in given]
    errors = [abs(given[key] - true[key]) for key in found] if counts else []
    return {
        "published": len(keys),
        "absent": sum(key not in true for key in keys),
        "recall": len(found) / len(frequent),
        "error": float(np.median(errors)) if errors else None,
    }
