"""A real browser for tests of the report, and what is said where there is none."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

REQUIRED = "HUSHCOUNT_REQUIRE_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome")
AXE = Path(__file__).parent / "browser" / "node_modules" / "axe-core" / "axe.min.js"
SKIPPED = "THE REPORT WAS NOT TESTED IN A BROWSER"


def lacking():
    """Return what this machine lacks for these tests, None if nothing."""
    if not any(map(shutil.which, NAMES)):
        return "no Chromium found; install the package chromium."
    if not AXE.exists():
        return "no axe-core found; install npm and run make test."
    return None


def need_chromium():
    """Return the path of Chromium; skip with a loud word without one, or fail where that is not allowed."""
    missing = lacking()
    if missing is None:
        return next(filter(None, map(shutil.which, NAMES)))
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(f"{REQUIRED} is 1, but {missing}")
    return pytest.skip(f"{SKIPPED}: {missing}")


@contextmanager
def chromium():
    """A headless browser."""
    path = need_chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # Tests may run as root in a container, where Chromium has no sandbox; it opens our own files only.
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Shown:
    """A report in a tab, with everything that it logged and asked the network for."""

    def __init__(self, browser, path, **settings):
        self.context = browser.new_context(**settings)
        self.page = self.context.new_page()
        self.said, self.asked = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.url = Path(path).as_uri()
        self.page.goto(self.url)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    @property
    def quiet(self):
        """Whether nothing was logged, and nothing but the file itself was asked for."""
        return self.said == [] and self.asked == [self.url]

    def violations(self):
        """What axe-core finds: the name of each broken rule with the elements that break it."""
        self.page.evaluate(AXE.read_text())
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        return {rule["id"]: [node["html"][:200] for node in rule["nodes"][:3]] for rule in found}

    def names(self):
        """The keys in the table, from the top."""
        return self.page.locator("#rows tbody th bdi").all_inner_texts()

    def walk_to(self, selector):
        """Press Tab until an element has the focus; raise if it never does."""
        for _ in range(60):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
                return
        raise AssertionError(f"no Tab reaches {selector}")
