"""The loop over bytes finds the same ends of rows as a plain search where nothing is quoted."""

import numpy as np
import pytest

from hushcount.compiled._kernels.row_ends import PLAIN, QUOTE_IN_QUOTED, QUOTED, START, row_ends


@pytest.mark.parametrize(
    ("text", "before", "expected"),
    [
        ("", START, (START, 0, 0)),
        ("a,b\nc", START, (PLAIN, 4, 4)),
        ("a\r\n", START, (START, 2, 3)),
        ('"a\nb"\nc\n', START, (START, 6, 8)),
        ('a"\n"b', START, (QUOTED, 3, 3)),  # a quote inside a plain field is no quote
        ('"a""\n', START, (QUOTED, 0, 0)),
        ('"', QUOTED, (QUOTE_IN_QUOTED, 0, 0)),
        ('"\n', QUOTE_IN_QUOTED, (QUOTED, 0, 0)),
        ("\n", QUOTE_IN_QUOTED, (START, 1, 1)),
        ('x"\n', QUOTE_IN_QUOTED, (START, 3, 3)),
        ('"\n', PLAIN, (START, 2, 2)),
    ],
)
def test_states(text, before, expected):
    assert row_ends(np.frombuffer(text.encode(), np.uint8), ord(","), before) == expected
