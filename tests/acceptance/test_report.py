"""The report in a real browser: silent, without network, accessible, and usable with a keyboard alone."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from tests.chromium import Shown, chromium
from tests.feeds import made_feed
from tests.made import made as other_kinds
from tests.releases import release_of
from tests.unit.releases.tree_example import tree

import hushcount as hc

EXAMPLES = Path(__file__).parents[2] / "examples"
BUDGET = {"epsilon": 1.0, "delta": 1e-8}
EVIL = [
    ("<script>alert(1)</script>", 900),
    ("</script><img src=x onerror=alert(2)>", 800),
    ("\" onmouseover='alert(3)' x=\"", 700),
    ("a\u202eb\u2066c", 600),
    ("\x00\x1b[2J\n\t\x7f", 500),
    ("x" * 4096, 400),
    ("&lt;b&gt; &amp; ]]> <!--", 300),
    ("{{7*7}} ${1} `x` \\u003c", 250),
    ("עברית עִם اَلْعَرَبِيَّةُ", 200),
    ("", 100),
]


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """The reports of real releases, by name."""
    folder = tmp_path_factory.mktemp("reports")
    made = {
        "table": hc.top(EXAMPLES / "searches.parquet", column="query", **BUDGET),
        "users": hc.top(EXAMPLES / "visits.parquet", column="page", user="user", max_keys=4, **BUDGET),
        "tree": hc.tree(
            EXAMPLES / "flows.parquet", column="source", hierarchy="ipv4/8", threshold=400, **BUDGET
        ),
        "sample": hc.sample(EXAMPLES / "searches.parquet", column="query", rate=1e-3, **BUDGET),
        "empty": hc.top(["a", "b"], **BUDGET),
        "evil": release_of(EVIL),
        "oracle": hc.oracle(EXAMPLES / "searches.parquet", column="query", **BUDGET),
    }
    made |= {
        name: other_kinds(name) for name in ("keys-steered", "hierarchy-users", "sum", "local, tree_hist")
    }
    made |= {
        "feed": watched(folder),
        "feed, evil": evil_feed(folder / "evil"),
        "feed, empty": empty_feed(folder),
    }
    for name, release in made.items():
        release.report(folder / f"{name}.html")
    return folder


def watched(folder):
    """The feed of a real watch: a key of all days, one that retires and comes back, rare ones."""
    hc.Ledger(folder / "spent.db").init("shop", **BUDGET, slack=0)
    days = [f"2026-10-{day:02}" for day in range(1, 13)]
    watch = hc.watch(
        folder / "shop.hw",
        period="1d",
        start=days[0],
        until="2026-10-13",
        levels=["1d", "2d"],
        ledger=folder / "spent.db",
        dataset="shop",
        retire_below=100,
        **BUDGET,
    )
    for place, day in enumerate(days):
        comes_back = [] if 4 <= place < 8 else ["ice cream"] * 300
        watch.add(["bread"] * (400 + 30 * place) + comes_back + [f"rare {day}"], label=day)
        watch.close(folder / "feed", f"{day}T00")
    return hc.feed(folder / "feed")


def evil_feed(folder):
    """A feed whose keys try to be markup."""
    entries = [(key, "entry", None, 0, count) for key, count in EVIL]
    made_feed(folder, {0: entries, 1: [(key, "node", 0, 1, count) for key, count in EVIL]})
    return hc.feed(folder)


def empty_feed(folder):
    """A feed of a period in which no key became known."""
    made_feed(folder / "empty", {0: []})
    return hc.feed(folder / "empty")


KINDS = ("table", "users", "tree", "sample", "empty", "evil", "oracle")
FEEDS = ("feed", "feed, evil", "feed, empty")
NAMES = (*KINDS, *FEEDS, "keys-steered", "hierarchy-users", "sum", "local, tree_hist")
PLACE = re.compile(r' (?:x|width)="([\d.]+)"')
LOOKS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
    "print": {"color_scheme": "light"},
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", NAMES)
def test_silent_without_network_and_accessible(browser, reports, name, look):
    with Shown(browser, reports / f"{name}.html", **LOOKS[look]) as shown:
        shown.page.emulate_media(media="print" if look == "print" else "screen")
        assert shown.violations() == {}
        assert shown.quiet, (shown.said, shown.asked)
        width = shown.page.evaluate("document.documentElement.scrollWidth")
        assert width <= shown.page.viewport_size["width"]


def test_the_check_finds_what_is_broken(browser, tmp_path):
    path = tmp_path / "bad.html"
    path.write_text(
        "<html><body><img src='http://127.0.0.1:9/x.png'><script>console.log(1)</script></body></html>"
    )
    with Shown(browser, path) as shown:
        assert {"image-alt", "html-has-lang", "document-title"} <= set(shown.violations())
        assert not shown.quiet


def test_sorting_by_keyboard(browser, reports):
    with Shown(browser, reports / "users.html") as shown:
        published = shown.names()
        shown.walk_to("th[data-field=key] button")
        shown.page.keyboard.press("Enter")
        assert shown.names() == sorted(published)
        assert shown.page.get_attribute("th[data-field=key]", "aria-sort") == "ascending"
        assert shown.page.inner_text("#said") == f"{len(published)} rows, sorted by key, ascending."
        shown.page.keyboard.press("Space")
        assert shown.names() == sorted(published, reverse=True)
        shown.walk_to("th[data-field=count] button")
        shown.page.keyboard.press("Enter")
        assert shown.names() == published
        assert shown.page.get_attribute("th[data-field=key]", "aria-sort") is None
        assert shown.quiet


@pytest.mark.parametrize("name", ["table", "users", "tree", "sample", "evil"])
def test_the_script_draws_rows_as_they_were_written(browser, reports, name):
    with Shown(browser, reports / f"{name}.html", java_script_enabled=False) as shown:
        written = shown.page.inner_html("#rows tbody")
    with Shown(browser, reports / f"{name}.html") as shown:
        shown.page.fill("#search", "no key has this name")
        assert shown.names() == []
        shown.page.fill("#search", "")
        drawn = shown.page.inner_html("#rows tbody")
    assert PLACE.sub("", drawn).replace(' class=""', "") == PLACE.sub("", written)
    places = [list(map(float, PLACE.findall(markup))) for markup in (drawn, written)]
    assert places[0] == pytest.approx(places[1], abs=0.006)  # two decimals are written


def test_searching_by_keyboard(browser, reports):
    with Shown(browser, reports / "table.html") as shown:
        shown.walk_to("#search")
        shown.page.keyboard.type("TI")
        found = shown.names()
        assert 10 < len(found) < 1000
        assert all("ti" in key for key in found)
        assert shown.page.inner_text("#said").startswith(f"{len(found)} of ")
        shown.page.keyboard.press("Control+A")
        shown.page.keyboard.type("nothing has this name")
        assert shown.names() == []
        assert shown.page.inner_text("#said").startswith("0 of ")
        shown.page.keyboard.press("Control+A")
        shown.page.keyboard.press("Delete")
        assert len(shown.names()) == 1000
        assert shown.quiet


def test_all_rows_can_be_reached(browser, reports):
    rows = len(hc_rows(reports / "table.html"))
    assert rows > 1000
    with Shown(browser, reports / "table.html") as shown:
        first = shown.names()
        shown.walk_to("#next")
        shown.page.keyboard.press("Enter")
        assert shown.page.inner_text("#said") == f"Rows 1,001 to {rows:,} of {rows:,} rows."
        assert first[0] not in shown.names()
        assert len(shown.names()) == rows - 1000
        assert shown.page.is_disabled("#next")
        shown.page.click("#previous")
        assert shown.names() == first


def test_walking_in_the_tree_by_keyboard(browser, reports):
    focused = "document.activeElement.getAttribute('aria-label')"
    boxes = (
        "[...document.querySelectorAll('#icicle .box')].filter(box => box.style.display !== 'none').length"
    )
    with Shown(browser, reports / "tree.html") as shown:
        page, press = shown.page, shown.page.keyboard.press
        everything = page.evaluate(boxes)
        shown.walk_to("#icicle .box")
        assert page.evaluate(focused).startswith("* ")
        press("ArrowRight")
        child = page.evaluate(focused)
        press("ArrowDown")
        assert page.evaluate(focused) != child
        press("ArrowUp")
        assert page.evaluate(focused) == child
        press("Enter")
        assert 1 < page.evaluate(boxes) < everything
        assert page.inner_text("#icicle-said").startswith(f"Showing {child}, ")
        entered = page.locator(f'#icicle .box[aria-label="{child}"]')
        assert (entered.get_attribute("x"), entered.get_attribute("height")) == ("0%", "100%")
        assert page.locator("#path button").all_inner_texts() == ["Whole tree", "*", child.split(" ")[0]]
        press("Escape")
        press("Escape")
        assert page.evaluate(boxes) == everything
        page.locator("#icicle .box").nth(3).click()
        page.click("#path button >> nth=0")
        assert page.evaluate(boxes) == everything
        assert shown.quiet


def test_odd_keys_are_shown_and_do_nothing(browser, reports):
    with Shown(browser, reports / "evil.html") as shown:
        shown.page.on("dialog", lambda dialog: shown.said.append(dialog.message))
        for _ in range(2):  # as written, then as the script draws them
            keys = shown.names()
            assert keys[:3] == [key for key, _ in EVIL[:3]]
            assert keys[3] == "a\\u202eb\\u2066c"
            assert keys[4] == "\\x00\\x1b[2J\\n\\t\\x7f"
            assert keys[5] == "x" * 160 + "… (4,096 characters)"
            assert keys[6:9] == [key for key, _ in EVIL[6:9]]
            assert keys[9] == "empty text"
            shown.page.click("th[data-field=count] button")
        assert shown.page.locator("img").count() == 0
        assert shown.quiet
    assert [row["key"] for row in hc_rows(reports / "evil.html")] == [key for key, _ in EVIL]


def test_a_feed_shows_what_enters_and_retires(browser, reports):
    with Shown(browser, reports / "feed.html") as shown:
        said = shown.page.inner_text("main")
        assert "retired" in said
        assert said.count("entered with ") == 3  # one key twice
        assert shown.page.locator("svg[role=img] title").count() == 3


def test_odd_keys_of_a_feed_are_shown_and_do_nothing(browser, reports):
    with Shown(browser, reports / "feed, evil.html") as shown:
        shown.page.on("dialog", lambda dialog: shown.said.append(dialog.message))
        keys = shown.page.locator("figcaption").all_inner_texts()
        assert keys[:3] == [key for key, _ in EVIL[:3]]
        assert keys[3] == "a\\u202eb\\u2066c"
        assert shown.page.locator("img, script").count() == 0
        assert shown.quiet


def test_saved_json_is_the_release(browser, reports):
    with Shown(browser, reports / "users.html") as shown:
        with shown.page.expect_download() as download:
            shown.page.click("#save")
        assert json.loads(Path(download.value.path()).read_text())["rows"] == hc_rows(reports / "users.html")


def test_print_shows_the_first_rows(browser, reports):
    with Shown(browser, reports / "table.html") as shown:
        shown.page.emulate_media(media="print")
        assert shown.page.locator("#rows tbody tr:visible").count() == 40
        assert shown.page.is_visible(".printed")
        assert not shown.page.is_visible("#search")
        assert shown.page.pdf().startswith(b"%PDF")


def test_without_a_script_everything_is_there(browser, reports):
    with Shown(browser, reports / "tree.html", java_script_enabled=False) as shown:
        assert len(shown.page.locator("#rows tbody th").all_inner_texts()) > 20
        assert shown.page.locator("#icicle .box").count() > 20


def hc_rows(path):
    """The rows of the block for programs."""
    return block(path)["rows"]


def block(path):
    text = path.read_text()
    start = text.index('type="application/json" id="release">') + len('type="application/json" id="release">')
    return json.loads(text[start : text.index("</script>", start)])


def test_sizes(tmp_path):
    small = release_of([(f"key {row}", 2000 - row) for row in range(1000)])
    small.report(tmp_path / "small.html")
    assert (tmp_path / "small.html").stat().st_size < 1_500_000
    long = release_of([(f"{row:04}" + "k" * 4092, 2000 - row) for row in range(1000)])
    long.report(tmp_path / "long.html")
    assert (tmp_path / "long.html").stat().st_size < 1_500_000 + len(long.to_json().encode())


def test_many_rows(browser, tmp_path):
    rows = 100_001
    keys = pa.array([f"key {row}" for row in range(rows)])
    many = release_of(list(zip(keys.to_pylist(), range(rows + 1000, 1000, -1), strict=True)))
    path = tmp_path / "many.html"
    many.report(path)
    assert len(hc_rows(path)) == 100_000
    assert path.stat().st_size < 1_500_000 + len(many.to_json().encode())
    with Shown(browser, path) as shown:
        assert len(shown.names()) == 1000
        shown.page.fill("#search", "key 99999")
        assert shown.names() == ["key 99999"]
        assert shown.quiet


@pytest.mark.parametrize("command", ["top", "sample", "tree", "release", "ldp", "oracle"])
def test_every_command_writes_reports_and_pictures(tmp_path, command):
    def run(*words):
        environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        done = subprocess.run(
            [sys.executable, "-m", "hushcount", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        assert done.returncode == 0, done.stderr

    (tmp_path / "keys.txt").write_text("tea\nmilk\nsalt\n" * 400)
    budget = ("--epsilon", "4", "--delta", "1e-6")
    files = ("--report", "out.html", "--plot", "out.svg")
    lines = ("keys.txt", "--format", "lines")
    if command == "top":
        run("top", *lines, *budget, *files)
    elif command == "sample":
        run("sample", *lines, *budget, "--rate", "1", *files)
    elif command == "tree":
        run("tree", *lines, "--hierarchy", "path/2", "--threshold", "100", *budget, *files)
    elif command == "release":
        run("sketch", *lines, "--output", "keys.hc")
        run("release", "keys.hc", *budget, *files)
    elif command == "oracle":
        run("oracle", "build", *lines, *budget, "--output", "o.hc", *files[:2])
        assert block(tmp_path / "out.html")["kind"] == "oracle"
        return
    else:
        run("ldp", "new", "c.json", "--items", "words:4", "--epsilon", "4", "--users", "1200")
        run("ldp", "randomise", "c.json", *lines, "-o", "r.bin")
        run("ldp", "aggregate", "c.json", "r.bin", *files)
    assert "tea" in {
        row.get("key") or row.get("node", "").strip("/·") for row in hc_rows(tmp_path / "out.html")
    }
    assert (tmp_path / "out.svg").read_text().startswith("<svg ")


def test_a_notebook_shows_releases(tmp_path):
    """Run a notebook as a reader would, and look at what its cells show."""
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    cells = [
        "import hushcount as hc",
        "table = hc.top(['<b>tea</b>'] * 500 + ['milk'] * 300, epsilon=1.0, delta=1e-6)\ntable",
        "table.plot()",
        "paths = ['/shop/tea'] * 900 + ['/about'] * 700\n"
        "tree = hc.tree(paths, hierarchy='path/2', threshold=200, epsilon=1.0, delta=1e-9)\ntree",
        "tree.plot()",
        "hc.sample(['tea'] * 5000, rate=1.0, epsilon=1.0, delta=1e-6)",
        "import pyarrow as pa\n"
        "visits = pa.table({'user': range(2000), 'page': ['/shop', '/about'] * 1000})\n"
        "hc.top(visits, column='page', user='user', max_keys=2, epsilon=1.0, delta=1e-6)",
        "hc.keys(visits, column='page', user='user', epsilon=1.0, delta=1e-6)",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(book, timeout=600, kernel_name="python3").execute()
    # Nothing but the value of each cell: no progress bar, none of DuckDB's, no warning.
    assert [len(cell["outputs"]) for cell in book.cells] == [0, *[1] * 7]
    shown = [cell["outputs"][0]["data"] if cell["outputs"] else {} for cell in book.cells]
    assert "Protects one event, not one person." in shown[1]["text/html"]
    assert "&lt;b&gt;tea&lt;/b&gt;" in shown[1]["text/html"]
    assert "<b>tea" not in shown[1]["text/html"]
    assert shown[2]["image/svg+xml"].startswith("<svg ")
    assert "/shop/tea" in shown[3]["text/html"]
    assert "Hierarchical heavy hitters" in shown[4]["image/svg+xml"]
    assert "Protects one event, not one person." in shown[5]["text/html"]
    for users in shown[6:]:
        assert "Protects one user, with everything they contribute." in users["text/html"]
        assert "/shop" in users["text/html"]


def test_reports_of_seeded_releases_carry_a_banner(browser, tmp_path):
    release_of(EVIL).with_notes("NOT PRIVATE: the noise came from a seed.").report(tmp_path / "seeded.html")
    with Shown(browser, tmp_path / "seeded.html") as shown:
        assert shown.page.inner_text(".banner").startswith("NOT PRIVATE")
        assert shown.violations() == {}
    release_of(EVIL).report(tmp_path / "good.html")
    assert "NOT PRIVATE" not in (tmp_path / "good.html").read_text()


def test_null_levels_of_a_tree(browser, tmp_path):
    nodes = [("·", 1, -1, 60, 260), ("· > ·", 2, 0, 200, 200)]
    tree(nodes).report(tmp_path / "tree.html")
    with Shown(browser, tmp_path / "tree.html") as shown:
        assert shown.quiet
        assert len(shown.names()) == 2
