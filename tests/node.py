"""Node and the installed tools of a client in `clients`, and what is said where there are none."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

REQUIRED = "HUSHCOUNT_REQUIRE_NODE"
CLIENTS = Path(__file__).parents[1] / "clients"
OLDEST = 20


def lacking(client):
    """Return what this machine lacks to build and test a client, None if nothing."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return "node or npm was not found; install the package npm."
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version[1:].partition(".")[0]) < OLDEST:
        return f"node is {version}; install node {OLDEST} or newer."
    if not (CLIENTS / client / "node_modules").is_dir():
        return f"the tools of clients/{client} are not installed; run make test."
    return None


def need_node(client):
    """Return the folder of a client; without node skip with a loud word, or fail if that is not allowed."""
    missing = lacking(client)
    if missing is None:
        return CLIENTS / client
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(f"{REQUIRED} is 1, but {missing}")
    return pytest.skip(f"THE CLIENT {client} WAS NOT TESTED: {missing}")


def npm(client, *arguments, seconds=300):
    """Run npm in the folder of a client; return what it printed, and fail the test if it failed."""
    done = subprocess.run(
        ["npm", *arguments],
        cwd=need_node(client),
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout
