"""docs/browser.md: its commands run, and its page answers a campaign in a real browser."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pytest
from tests.chromium import chromium, need_chromium
from tests.node import npm
from tests.serving import folder_served

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "browser.md").read_text()
BUILT = ROOT / "clients" / "browser" / "dist" / "hushcount.min.js"


def block(language):
    return re.search(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)[1]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


@pytest.fixture
def campaign(tmp_path):
    """The address that the commands of the page print, while their collector runs."""
    # The page sleeps for a moment; here the collector is waited for, however slow this machine is.
    look = "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/readyz')"
    waiting = f'for turn in {{1..300}}; do {sys.executable} -c "{look}" && break; sleep 0.2; done'
    script = block("sh").replace("sleep 3", waiting).replace("8080", free_port())
    command = f'hushcount() {{ {sys.executable} -m hushcount "$@"; }}\n'
    shell = subprocess.Popen(
        ["bash", "-c", f"{command}{script}echo STARTED; wait"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,  # so that shell and collector are stopped together
    )
    try:
        printed = "".join(takewhile(lambda line: line != "STARTED\n", shell.stdout))
        yield re.search(r"http://127\.0\.0\.1:\d+/v1/campaigns/[0-9a-f]{64}", printed)[0]
    finally:
        os.killpg(shell.pid, signal.SIGTERM)
        shell.communicate(timeout=60)


def test_the_commands_run_and_the_page_answers(campaign, tmp_path):
    need_chromium()
    npm("browser", "run", "build")
    shutil.copy(BUILT, tmp_path)
    (tmp_path / "page.html").write_text(block("html").replace("CAMPAIGN", campaign))
    with folder_served(tmp_path) as site, chromium() as browser:
        page = browser.new_page()
        page.goto(f"{site}/page.html")
        page.get_by_text("Collected by: The Drinks Board.").wait_for()
        page.get_by_role("button", name="I drink tea").click()
        page.get_by_role("status").filter(has_text="sent").wait_for()


def test_the_readme_of_the_client_opens_with_the_same_calls():
    readme = (ROOT / "clients" / "browser" / "README.md").read_text()
    for call in ("connect(", "consent(campaign.manifest)", 'campaign.report("tea")'):
        assert call in readme
        assert call in TEXT
