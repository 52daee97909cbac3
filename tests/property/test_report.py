"""Whatever the keys are, a report is one well-formed page with the release inside and nothing else in it."""

import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.releases import release_of

from hushcount.releases.views.report import report_of

HOSTILE = st.sampled_from(
    ["<script>", "</script>", "<!--", "-->", "]]>", "&", '"', "'", "\u202e", "\x00", "·"]
)
KEYS = st.lists(
    st.lists(st.one_of(HOSTILE, st.text(max_size=8)), max_size=4).map("".join), max_size=6, unique=True
)


def counted(text):
    """How often each element opens and closes."""
    outside = re.sub(r"(<script[^>]*>|<style>).*?(</script>|</style>)", r"\1\2", text, flags=re.S)
    opened, closed = re.findall(r"<([a-z]\w*)", outside), re.findall(r"</([a-z]\w*)", outside)
    assert sorted(name for name in opened if name not in ("meta", "input")) == sorted(closed)
    return len(opened)


@settings(max_examples=60, deadline=None)
@given(KEYS)
def test_keys_change_nothing_but_texts(keys):
    rows = [(key, 900 - place) for place, key in enumerate(keys)]
    text = report_of(release_of(rows))
    plain = report_of(release_of([(f"key {place}", count) for place, (_, count) in enumerate(rows)]))
    assert counted(text) == counted(plain)
    assert text.count("<script") == text.count("</script>") == 2
    block = re.search(r'id="release">(.*?)</script>', text, re.S)[1]
    assert [row["key"] for row in json.loads(block)["rows"]] == keys
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", text.replace(block, ""))
