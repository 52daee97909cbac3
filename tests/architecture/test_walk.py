"""Data goes one way: how often a job changes between the rooms that hold data, counted over a real run.

The vocabulary, shapes, noise, files, keys, hierarchies, stores and accounting are tools, which any room may
take up; a call to one is no change of room.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("cli", "jobs", "sources", "sketches", "mechanisms", "releases", "ldp")
BUDGET = ("--epsilon", "1", "--delta", "1e-8")
FLOWS = ("tree", str(ROOT / "examples/flows.parquet"), "--column", "source", "--hierarchy", "ipv4/8")
SEARCHES = (str(ROOT / "examples/searches.parquet"), "--column", "query")
JOBS = {
    "top": ("top", *SEARCHES, *BUDGET),
    "tree": (*FLOWS, "--threshold", "1000", *BUDGET),
    "tree streaming": (*FLOWS, "--threshold", "1000", "--method", "streaming", *BUDGET),
    "users": ("top", "users.csv", "--column", "key", "--user", "user", "--max-keys", "4", *BUDGET),
    "sample": ("sample", *SEARCHES, "--rate", "1e-3", *BUDGET),
    "oracle": ("oracle", "build", *SEARCHES, *BUDGET, "-o", "o.hc"),
    "ldp aggregate": ("ldp", "aggregate", "c.json", "r.bin"),
}
MOST_CHANGES = {
    "top": 30,
    "tree": 24,
    "tree streaming": 34,
    "users": 34,
    "sample": 30,
    "oracle": 26,
    "ldp aggregate": 14,
}
TRACER = """
import json, sys
from pathlib import Path
import hushcount
from hushcount.cli import main

ROOT = str(Path(hushcount.__file__).parent) + "/"
rooms = []


def note(frame, event, argument):
    name = frame.f_code.co_filename
    if event != "call" or not name.startswith(ROOT) or frame.f_code.co_name == "<module>":
        return
    caller = frame.f_back
    while caller is not None:
        if caller.f_code.co_filename.startswith(ROOT) and caller.f_code.co_name == "<module>":
            return  # it runs while a module is loaded
        caller = caller.f_back
    rooms.append(name[len(ROOT):].split("/")[0])


sys.setprofile(note)
code = main(sys.argv[2:])
sys.setprofile(None)
Path(sys.argv[1]).write_text(json.dumps([code, rooms]))
"""


def walked(folder, words):
    """The rooms that a command enters, in order."""
    command = [sys.executable, "-c", TRACER, "walk.json", *words]
    for _ in range(2):  # the first run may compile kernels
        (folder / "o.hc").unlink(missing_ok=True)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    code, rooms = json.loads((folder / "walk.json").read_text())
    assert code == 0, done.stderr
    stations = [room for room in rooms if room in ROOMS]
    return [room for room, before in zip(stations, [None, *stations], strict=False) if room != before]


@pytest.mark.parametrize("job", JOBS)
def test_walks_are_short(tmp_path, job):
    (tmp_path / "users.csv").write_text("user,key\n" + "".join(f"u{i % 900},k{i % 3}\n" for i in range(4000)))
    if job == "ldp aggregate":
        (tmp_path / "items.txt").write_text("tea\nmilk\nsalt\n" * 400)
        new = ("ldp", "new", "c.json", "--items", "words:4", "--epsilon", "4", "--users", "1200")
        randomise = ("ldp", "randomise", "c.json", "items.txt", "--format", "lines", "-o", "r.bin")
        for words in (new, randomise):
            subprocess.run([sys.executable, "-m", "hushcount", *words], cwd=tmp_path, check=True)
    walk = walked(tmp_path, JOBS[job])
    assert len(walk) - 1 <= MOST_CHANGES[job], " ".join(walk)
