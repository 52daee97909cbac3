"""The files in `deploy` do what they say: their commands are run, with other folders and another port."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from tests.collector import ADMIN_TOKEN

from hushcount.ldp.client.http import ask

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy" / "hushcount-collector.service"
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def instructions():
    """The instructions of the Dockerfile, each a word and the rest."""
    text = (ROOT / "deploy" / "Dockerfile").read_text().replace("\\\n", " ")
    return [line.split(" ", 1) for line in text.splitlines() if line and not line.startswith("#")]


def the(word):
    """The only instruction with a word, of which others may follow a first word."""
    (found,) = [rest for each, rest in instructions() if each == word]
    return found


def runs(command, folder, environment, check=None):
    """Run a collector until it says where it listens, ask it, look at its health, and stop it."""
    log = folder / "log"
    with log.open("w") as stream:
        process = subprocess.Popen(command, stderr=stream, cwd=folder, env=environment)
    try:
        while not ('"listening"' in (said := log.read_text()) and said.endswith("\n")):
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        (port,) = [line["port"] for line in lines if "port" in line]
        assert ask("GET", f"http://127.0.0.1:{port}/readyz").status == 200
        assert ask("GET", f"http://127.0.0.1:{port}/v1/campaigns", ADMIN_TOKEN).status == 200
        assert b"<title>" in ask("GET", f"http://127.0.0.1:{port}/").body
        if check is not None:
            check(port)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, log.read_text()
    finally:
        process.kill()


def test_the_unit_is_one(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("THE UNIT WAS NOT VERIFIED: systemd-analyze was not found.")
    there = tmp_path / UNIT.name  # the program of this environment stands for the one that is installed
    there.write_text(UNIT.read_text().replace("/opt/hushcount/bin/hushcount", sys.executable))
    done = subprocess.run(["systemd-analyze", "verify", there], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_command_of_the_unit_runs(tmp_path):
    text = UNIT.read_text().replace("\\\n", " ")
    (command,) = re.findall(r"^ExecStart=/opt/hushcount/bin/hushcount (.*)$", text, re.MULTILINE)
    assert "LoadCredential=admin.token:" in text
    for name in ("STATE_DIRECTORY", "CREDENTIALS_DIRECTORY"):
        command = command.replace(f"${{{name}}}", str(tmp_path))
    (tmp_path / "admin.token").write_text(ADMIN_TOKEN)
    words = shlex.split(command.replace("127.0.0.1:8080", "127.0.0.1:0"))
    runs([sys.executable, "-m", "hushcount", *words], tmp_path, dict(os.environ))
    assert (tmp_path / "reports.db").exists()


def test_the_commands_of_the_dockerfile_run(tmp_path):
    source, installed, secrets, data = (tmp_path / name for name in ("source", "lib", "secrets", "data"))
    for each in (source, secrets, data):
        each.mkdir()
    for rest in (rest for word, rest in instructions() if word == "COPY"):
        *names, target = rest.split()
        for name in names:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, source / (name if target == "./" else target))
    (install,) = [rest for word, rest in instructions() if word == "RUN" and "pip install" in rest]
    (extras,) = re.findall(r'"\.\[([a-z,]+)\]"', install)
    assert set(extras.split(",")) <= set(EXTRAS)
    # What it depends on is in this environment; the package itself is built from what was copied alone.
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(installed), "."]
    subprocess.run([sys.executable, "-m", "pip", "install", *options], cwd=source, check=True)
    shutil.rmtree(source)
    (secrets / "admin.token").write_text(ADMIN_TOKEN)
    assert json.loads(the("ENTRYPOINT")) == ["hushcount"]
    words = [
        word.replace("/data", str(data))
        .replace("/secrets", str(secrets))
        .replace("0.0.0.0:8080", "127.0.0.1:0")
        for word in json.loads(the("CMD"))
    ]
    environment = os.environ | {"PYTHONPATH": str(installed), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert the("STOPSIGNAL") == "SIGTERM"

    def healthy(port):
        _, python, *rest = json.loads(
            the("HEALTHCHECK").replace("CMD [", '["CMD", ').replace("8080", str(port))
        )
        assert python == "python"
        subprocess.run([sys.executable, *rest], check=True)

    runs([sys.executable, "-m", "hushcount", *words], tmp_path, environment, healthy)
    assert (data / "reports.db").exists()
