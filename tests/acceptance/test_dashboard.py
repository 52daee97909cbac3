"""The dashboard of a real collector in a real browser: what it shows, to whom, and that all can use it."""

import csv
import json
import random
import re
import time
from pathlib import Path

import pytest
from tests.chromium import AXE, chromium, need_chromium
from tests.node import npm
from tests.serving import ADMIN, collector

from hushcount import ldp
from hushcount.ldp.wire.batch import pack_batch

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "src" / "hushcount" / "service" / "web" / "index.html"
PROMISE = "The relay sends batches sorted by nonce."
DRINKS = ("tea", "coffee", "milk", "<b>water</b>")
HELD = {"tea": 4000, "coffee": 3000, "<b>water</b>": 2500}
PEOPLE = sum(HELD.values())
PHONE = {"width": 375, "height": 700}


def campaign(**given):
    usual = {"epsilon": 4.0, "users": 5000, "expires": int(time.time()) + 3600}
    usual["terms"] = ldp.Terms(collector="The Drinks Board", retention_days=7)
    return ldp.ExplicitHist(ldp.Categories(DRINKS), **usual | given).manifest


def fill(service, address, manifest):
    """Send the reports of everybody as one batch."""
    reports = [ldp.Client(manifest).report(drink) for drink, count in HELD.items() for _ in range(count)]
    random.shuffle(reports)
    body = pack_batch(reports)
    path = address.removeprefix(service.url) + "/reports"
    assert service.send(path, body, "application/vnd.hushcount.reports") == {
        "accepted": PEOPLE,
        "duplicates": 0,
    }


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    need_chromium()
    with collector(tmp_path_factory.mktemp("dashboard")) as running:
        yield running


@pytest.fixture(scope="module")
def full(service):
    """The id of a campaign with reports, which was released."""
    manifest = campaign()
    fill(service, service.make(manifest), manifest)
    service.ask("POST", f"/v1/campaigns/{manifest.id}/release")
    return manifest.id


@pytest.fixture(scope="module")
def waiting(service):
    """The id of a campaign with reports, of which nothing was released."""
    manifest = campaign(users=6000)
    address = service.make(manifest)
    fill(service, address, manifest)
    while not service.status(address)["reports"]:  # the collector remembers a campaign for a second
        time.sleep(0.1)
    return manifest.id


@pytest.fixture(scope="module")
def browser():
    need_chromium()
    with chromium() as opened:
        yield opened


class Seen:
    """The dashboard in a tab, and what it said and asked for."""

    def __init__(self, browser, service, path="", **settings):
        self.service = service
        self.context = browser.new_context(**settings)
        self.page = self.context.new_page()
        self.said, self.asked = [], []
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(f"{service.url}/{path}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def sign_in(self):
        self.page.get_by_label("The administrator's token").fill(ADMIN)
        self.page.get_by_role("button", name="Show the campaigns").click()
        self.page.get_by_role("heading", name="Campaigns").wait_for()

    def open(self, campaign):
        self.page.locator(f"#to-{campaign[:16]}").click()
        self.page.get_by_role("heading", name="Fake reports").wait_for()

    def violations(self):
        self.page.evaluate(AXE.read_text())
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        return {rule["id"]: [node["html"][:200] for node in rule["nodes"][:3]] for rule in found}

    def text(self):
        return self.page.locator("main").inner_text()

    def scrolls_sideways(self):
        root = "document.documentElement"
        return self.page.evaluate(f"{root}.scrollWidth > {root}.clientWidth")


def test_the_administrator_sees_everything_of_a_campaign(browser, service, full, waiting):
    with Seen(browser, service) as seen:
        seen.sign_in()
        for users in ("5,000", "6,000"):
            seen.page.get_by_role("cell", name=f"9,500 of {users}").wait_for()
        assert seen.page.locator("tbody tr").count() == 2
        seen.open(full)
        text = seen.text()
        assert "Collected by The Drinks Board." in text
        assert "no answer makes any report more than 54.6 times as likely" in text
        assert "No central guarantee is claimed" in text
        least = service.ask("GET", f"/v1/campaigns/{full}")["least_detectable"]
        assert f"At the planned 5,000 users it is {-(-least['planned'] // 1):,.0f}." in text
        assert "With 9,500 reports, an item is found if about" in text
        names = seen.page.locator("table.rows tbody th").all_inner_texts()
        assert names == ["tea", "coffee", "<b>water</b>"]
        assert seen.page.locator("svg.interval").count() == len(names)
        assert seen.page.locator("svg.history rect").count() >= 1
        seen.page.get_by_role("button", name="Check the reports").click()
        seen.page.get_by_text("Nothing looks forged in 9,500 reports").wait_for()
        assert seen.said == []
        assert all(url.startswith(service.url) for url in seen.asked)


def test_bars_are_where_the_numbers_are(browser, service, full):
    with Seen(browser, service, f"#{full}") as seen:
        seen.page.locator("svg.interval").first.wait_for()
        released = service.ask("GET", f"/v1/campaigns/{full}/heavy-hitters")["rows"]
        most = max(row["upper"] for row in released)
        for row, bar in zip(released, seen.page.locator("svg.interval").all(), strict=True):
            drawn = bar.locator(".range")
            left, width = (float(drawn.get_attribute(name)) for name in ("x", "width"))
            assert left == pytest.approx(200 * row["lower"] / most)
            assert left + width == pytest.approx(200 * row["upper"] / most)


def test_nothing_is_shown_before_the_release(browser, service, waiting):
    for signed_in in (False, True):
        with Seen(browser, service, "" if signed_in else f"#{waiting}") as seen:
            if signed_in:
                seen.sign_in()
                seen.open(waiting)
            seen.page.get_by_text("Nothing of this campaign was released yet.").wait_for()
            assert "coffee" not in seen.text()
            assert not [url for url in seen.asked if signed_in and url.endswith("heavy-hitters")]


def test_everybody_sees_what_was_released_and_no_more(browser, service, full):
    with Seen(browser, service) as seen:
        seen.page.get_by_label("The id of a campaign").fill(full)
        seen.page.get_by_role("button", name="Show what was released").click()
        seen.page.locator("table.rows").wait_for()
        assert "coffee" in seen.text()
        assert "Fake reports" not in seen.text()
        assert "Reports over time" not in seen.text()


def test_a_wrong_token_is_refused_and_forgotten(browser, service):
    with Seen(browser, service) as seen:
        seen.page.get_by_label("The administrator's token").fill("not this one, surely")
        seen.page.get_by_role("button", name="Show the campaigns").click()
        seen.page.get_by_text("The collector does not know this token.").wait_for()
        assert seen.page.evaluate("Object.keys(sessionStorage).length + localStorage.length") == 0
        seen.sign_in()
        seen.page.get_by_role("button", name="Forget the token").click()
        seen.page.get_by_role("heading", name="Collector").wait_for()
        assert seen.page.evaluate("Object.keys(sessionStorage).length + localStorage.length") == 0


def test_an_unknown_campaign_is_said_in_words(browser, service):
    with Seen(browser, service, "#" + "0" * 64) as seen:
        seen.page.get_by_text("There is nothing here.").wait_for()


def test_new_reports_appear(browser, service):
    manifest = campaign(users=7000)
    address = service.make(manifest)
    with Seen(browser, service) as seen:
        seen.sign_in()
        seen.open(manifest.id)
        assert "No report has come yet." in seen.text()
        fill(service, address, manifest)
        seen.page.get_by_role("button", name="Read again").click()
        seen.page.get_by_text("reports of 7,000 planned users").wait_for()
        seen.page.get_by_text("With 9,500 reports").wait_for()
        assert seen.page.evaluate("document.activeElement.id") == "again"


def test_downloads_are_the_release(browser, service, full, tmp_path):
    released = service.ask("GET", f"/v1/campaigns/{full}/heavy-hitters")
    with Seen(browser, service, f"#{full}") as seen:
        for kind in ("CSV", "JSON"):
            with seen.page.expect_download() as waiting:
                seen.page.get_by_role("button", name=f"Download as {kind}").click()
            waiting.value.save_as(tmp_path / kind)
    assert json.loads((tmp_path / "JSON").read_text()) == released
    with (tmp_path / "CSV").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    names = ("key", "count", "lower", "upper")
    assert [list(row.values()) for row in rows] == [
        [str(row[name]) for name in names] for row in released["rows"]
    ]


def test_both_guarantees_are_told(browser, service):
    terms = ldp.Terms(
        collector="The Drinks Board",
        relay="The Press Council",
        min_batch=100_000,
        central_epsilon="0.5",
        central_delta="0.000000001",
        promise=PROMISE,
    )
    manifest = campaign(users=200_000, epsilon=3.0, terms=terms)
    service.make(manifest)
    with Seen(browser, service, f"#{manifest.id}") as seen:
        seen.page.get_by_role("heading", name="Through the relay").wait_for()
        text = seen.text()
        assert "more than 20.1 times as likely" in text
        assert "at least 100,000 honest reports, the factor is 1.65 (epsilon 0.5)" in text
        assert f"It rests on the relay, run by The Press Council: {PROMISE}" in text


LOOKS = [
    {"color_scheme": scheme, "viewport": size}
    for scheme in ("light", "dark")
    for size in ({"width": 1100, "height": 900}, PHONE)
]


@pytest.mark.parametrize("look", LOOKS, ids=["light desk", "light phone", "dark desk", "dark phone"])
def test_axe_finds_nothing(browser, service, full, look):
    with Seen(browser, service, **look) as seen:
        assert seen.violations() == {}
        seen.sign_in()
        assert seen.violations() == {}
        assert not seen.scrolls_sideways()
        seen.open(full)
        seen.page.locator("summary").click()
        assert seen.violations() == {}
        assert not seen.scrolls_sideways()


def test_the_keyboard_is_enough(browser, service, full):
    with Seen(browser, service) as seen:
        keys, page = seen.page.keyboard, seen.page
        page.get_by_role("heading", name="Collector").wait_for()
        keys.press("Tab")
        assert page.evaluate("document.activeElement.id") == "token"
        keys.type(ADMIN)
        keys.press("Enter")
        page.get_by_role("heading", name="Campaigns").wait_for()
        assert page.evaluate("document.activeElement.tagName") == "H1"  # a screen reader says where it is
        for _ in range(20):
            keys.press("Tab")
            if page.evaluate("document.activeElement.id") == f"to-{full[:16]}":
                break
        keys.press("Enter")
        page.get_by_role("heading", name="Fake reports").wait_for()
        for _ in range(20):
            keys.press("Tab")
            if page.evaluate("document.activeElement.id") == "check":
                break
        keys.press("Enter")
        page.get_by_text("Nothing looks forged").wait_for()
        assert page.locator("#verdict").get_attribute("role") == "status"


def test_the_page_is_what_its_source_gives(tmp_path):
    made = tmp_path / "index.html"
    npm("browser", "exec", "--", "node", "build.mjs", "--page", "../dashboard", "index", str(made))
    assert made.read_text() == PAGE.read_text()


def test_the_page_asks_for_nothing_elsewhere():
    text = PAGE.read_text()
    addresses = set(re.findall(r"https?://[^\"'`\s]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in text
    assert "unsafe" not in text
