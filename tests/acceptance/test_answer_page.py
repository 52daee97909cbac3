"""People answer a campaign from examples/answer.html in a real browser; a real collector counts each once."""

import time
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.chromium import AXE, chromium, need_chromium
from tests.node import npm
from tests.serving import ADMIN, collector, folder_served, relay

from hushcount import ldp

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "examples" / "answer.html"
PEOPLE = 50
DRINKS = ("tea", "coffee", "milk", "water")
REPORT_BYTES = 27
SEALED_BYTES = 83


@pytest.fixture(scope="module")
def browser():
    need_chromium()
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    need_chromium()
    with collector(tmp_path_factory.mktemp("collector")) as running:
        yield running


@pytest.fixture(scope="module")
def site():
    with folder_served(PAGE.parent) as address:
        yield address


def campaign(**given):
    usual = {"epsilon": 4.0, "users": 1000, "expires": int(time.time()) + 3600}
    usual["terms"] = ldp.Terms(collector="The Drinks Board", retention_days=7)
    return ldp.ExplicitHist(ldp.Categories(DRINKS), **usual | given).manifest


class Visit:
    """A tab with the page of a campaign, and the reports that it sent."""

    def __init__(self, context, url):
        self.page = context.new_page()
        self.sent, self.said = [], []
        self.page.on("request", self._look)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.goto(url)

    def _look(self, request):
        if request.method == "POST":
            self.sent.append(request.post_data_buffer)

    def wait(self, state):
        self.page.wait_for_selector(f"body[data-state={state}]", state="attached")

    def answer(self, drink):
        self.wait("unanswered")
        self.page.get_by_label(drink).check()
        self.page.get_by_role("button", name="Send my answer").click()


def link(site, address, **more):
    return f"{site}/answer.html#{urlencode({'campaign': address} | more)}"


def shown_on_the_dashboard(browser, service, campaign):
    """How many reports of a campaign the dashboard shows to the administrator."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(service.url)
    page.get_by_label("The administrator's token").fill(ADMIN)
    page.get_by_role("button", name="Show the campaigns").click()
    row = page.get_by_role("row").filter(has=page.locator(f"#to-{campaign[:16]}"))
    found = row.get_by_role("cell").nth(1).inner_text()
    context.close()
    return found


def test_fifty_people_answer_and_none_of_them_twice(browser, service, site):
    address = service.make(campaign(), origins=[site])
    for person in range(PEOPLE):
        context = browser.new_context()
        first = Visit(context, link(site, address))
        first.answer(DRINKS[person % 2])
        first.wait("sent")
        assert [len(report) for report in first.sent] == [REPORT_BYTES]
        first.page.close()
        second = Visit(context, link(site, address))
        second.wait("sent")
        assert second.page.get_by_role("button", name="Send my answer").is_hidden()
        assert second.sent == []
        assert first.said == second.said == []
        context.close()
    found = service.status(address)
    assert found["reports"] == PEOPLE
    assert shown_on_the_dashboard(browser, service, found["id"]) == f"{PEOPLE} of 1,000"
    rows = service.ask("GET", f"/v1/campaigns/{found['id']}/frequencies?item=tea&item=water")["rows"]
    # Each of both estimates is within eight standard deviations of the truth, 25 and 0.
    width = 8 * (rows[0]["upper"] - rows[0]["lower"] + 1)
    assert abs(rows[0]["count"] - PEOPLE / 2) < width
    assert rows[1]["count"] < width


def test_the_consent_is_read_before_the_answer(browser, service, site):
    context = browser.new_context()
    visit = Visit(context, link(site, service.make(campaign(), origins=[site])))
    visit.wait("unanswered")
    consent = visit.page.locator("#consent").inner_text()
    assert "Collected by: The Drinks Board." in consent
    assert "(epsilon 4)" in consent
    visit.page.evaluate(AXE.read_text())
    assert visit.page.evaluate("axe.run(document)")["violations"] == []
    context.close()


def test_without_network_the_answer_waits_and_then_arrives(browser, service, site):
    address = service.make(campaign(), origins=[site])
    context = browser.new_context()
    visit = Visit(context, link(site, address))
    visit.wait("unanswered")
    context.set_offline(True)
    visit.answer("milk")
    visit.wait("queued")
    assert service.status(address)["reports"] == 0
    context.set_offline(False)
    visit.wait("sent")
    assert service.status(address)["reports"] == 1
    assert len(set(visit.sent)) == 1  # whatever was tried, the same bytes
    context.close()


def test_two_tabs_at_once_send_one_report(browser, service, site):
    address = service.make(campaign(), origins=[site])
    context = browser.new_context()
    tabs = [Visit(context, link(site, address)) for _ in range(2)]
    for tab, drink in zip(tabs, DRINKS, strict=False):
        tab.answer(drink)
    for tab in tabs:
        tab.wait("sent")
    assert len({report for tab in tabs for report in tab.sent}) == 1
    assert service.status(address)["reports"] == 1
    context.close()


def test_whoever_has_nothing_to_say_sends_a_report_too(browser, service, site):
    address = service.make(campaign(), origins=[site])
    context = browser.new_context()
    visit = Visit(context, link(site, address))
    visit.wait("unanswered")
    visit.page.get_by_role("button", name="Send without an answer").click()
    visit.wait("sent")
    assert [len(report) for report in visit.sent] == [REPORT_BYTES]
    context.close()


def test_it_works_from_a_file_and_with_words_and_by_keyboard(browser, service):
    manifest = ldp.TreeHist(
        ldp.Words("abcdefghijklmnopqrstuvwxyz", 6), epsilon=4.0, users=1000, expires=int(time.time()) + 3600
    ).manifest
    address = service.make(manifest)
    context = browser.new_context()
    visit = Visit(context, PAGE.as_uri())
    keys = visit.page.keyboard
    visit.page.get_by_label("Address of the campaign").focus()
    keys.type(address)
    keys.press("Enter")
    visit.wait("unanswered")
    visit.page.get_by_label("Your answer").focus()
    keys.type("banana")
    keys.press("Enter")
    visit.wait("sent")
    assert visit.page.get_by_role("status").inner_text().startswith("Thank you.")
    assert service.status(address)["reports"] == 1
    context.close()


def test_through_a_relay_the_collector_gets_sealed_reports_of_nobody(browser, service, site, tmp_path):
    terms = ldp.Terms(collector="The Drinks Board", relay="The Press Council", min_batch=5)
    address = service.make(campaign(terms=terms), origins=[site])
    with relay(tmp_path, service, address, batch=5) as through:
        for person in range(5):
            assert service.status(address)["reports"] == 0  # the relay waits for a whole batch
            context = browser.new_context()
            visit = Visit(context, link(site, address, relay=through))
            visit.wait("unanswered")
            assert "Relay run by: The Press Council." in visit.page.locator("#consent").inner_text()
            visit.answer(DRINKS[person % 2])
            visit.wait("sent")
            assert [len(report) for report in visit.sent] == [SEALED_BYTES]
            again = Visit(context, link(site, address, relay=through))
            again.wait("sent")
            assert again.sent == []
            context.close()
        for _ in range(600):
            if service.status(address)["reports"]:
                break
            time.sleep(0.1)
    found = service.status(address)
    assert (found["reports"], found["dropped"], found["by_relay"]) == (5, 0, True)


def test_a_page_of_another_origin_is_not_let_in(browser, service, site):
    address = service.make(campaign(), origins=["https://elsewhere.example"])
    context = browser.new_context()
    visit = Visit(context, link(site, address))
    visit.page.wait_for_selector("#said.alarm")
    assert visit.page.get_by_role("status").inner_text() == "No manifest (no connection)."
    assert visit.sent == []
    context.close()


def test_the_page_is_what_its_source_gives(tmp_path):
    made = tmp_path / "answer.html"
    npm("browser", "exec", "--", "node", "build.mjs", "--page", "page", "answer", str(made))
    assert made.read_text() == PAGE.read_text()
