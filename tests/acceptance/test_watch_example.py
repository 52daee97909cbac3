"""The example of a shop runs: its first months are published, and its report is written."""

from examples.watch_year import main

import hushcount as hc


def test_the_first_months_of_the_shop(tmp_path, capsys):
    main(tmp_path / "shop", 40)
    said = capsys.readouterr().out
    assert "2025-02-01 is published." in said
    assert "bread" in said
    assert "<td>bread</td>" in (tmp_path / "shop" / "report.html").read_text()
    found = {row["key"] for row in hc.feed(tmp_path / "shop" / "feed").top(None)}
    assert {"bread", "milk", "coffee", "gloves"} <= found
    assert len([key for key in found if str(key).startswith("special order")]) < 5
