"""The client for browsers: its own tests, its size, and what is published."""

import json
import re
import subprocess

import pytest
from tests.node import CLIENTS, npm

from hushcount.errors import ReportError
from hushcount.ldp.wire import sealing

FOLDER = CLIENTS / "browser"
MOST_BYTES = 6000


@pytest.fixture(scope="module")
def said():
    return npm("browser", "test")


def test_its_own_tests_pass_every_one(said):
    found = {name: int(count) for name, count in re.findall(r"^(?:#|ℹ) (\w+) (\d+)$", said, re.MULTILINE)}
    assert found["tests"] == found["pass"] > 100
    assert found["fail"] == found["skipped"] == found["todo"] == 0


def test_it_is_small(said):
    size = int(re.search(r"dist/hushcount\.min\.js: (\d+) bytes gzipped", said)[1])
    assert size <= MOST_BYTES
    assert f"const MOST_BYTES = {MOST_BYTES};" in (FOLDER / "build.mjs").read_text()


def test_a_bundler_keeps_only_what_is_used(said, tmp_path):
    """A page that shows the consent alone does not get the client."""
    page = tmp_path / "page.mjs"
    page.write_text('import { consent } from "hushcount"; console.log(consent);')
    bundle = (
        "import { build } from 'esbuild';"
        "const { outputFiles } = await build({ entryPoints: [process.argv[1]], bundle: true, minify: true,"
        " write: false, format: 'esm', alias: { hushcount: './dist/index.js' } });"
        "process.stdout.write(outputFiles[0].text);"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "--eval", bundle, str(page)],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Collected by" in done.stdout
    assert "indexedDB" not in done.stdout
    assert len(done.stdout) < 2000


def test_types_and_modules_are_published(said):
    packed = json.loads(npm("browser", "pack", "--dry-run", "--json"))
    listed = packed[0] if isinstance(packed, list) else next(iter(packed.values()))
    files = {each["path"] for each in listed["files"]}
    package = json.loads((FOLDER / "package.json").read_text())
    wanted = {place.removeprefix("./") for entry in package["exports"].values() for place in entry.values()}
    assert wanted | {"LICENSE", "THIRD_PARTY_NOTICES.md", "dist/hushcount.min.js", "src/index.ts"} <= files
    assert not [name for name in files if "test" in name or "node_modules" in name]


def test_the_lock_file_has_versions_and_hashes_and_no_addresses():
    text = (FOLDER / "package-lock.json").read_text()
    assert '"resolved"' not in text
    packages = json.loads(text)["packages"]
    assert all("integrity" in entry and "version" in entry for name, entry in packages.items() if name)


def test_its_version_and_licence_are_those_of_the_package():
    from hushcount import __version__

    package = json.loads((FOLDER / "package.json").read_text())
    assert package["version"] == __version__
    assert package["license"] == "Apache-2.0"
    assert (FOLDER / "LICENSE").read_text() == (FOLDER.parents[1] / "LICENSE").read_text()


def test_python_opens_what_it_seals(said):
    private, public = sealing.new_pair()
    campaign, report = "ab" * 32, bytes(range(27))
    key = {"id": "0102030405060708", "public": public.hex(), "suite": sealing.SUITE, "expires": 4_000_000_000}
    script = (
        "const { sealed } = await import('./dist/hushcount-sealed.min.js');"
        "const [key, campaign, report] = process.argv.slice(1);"
        "const transport = sealed('https://relay.example', { keys: [JSON.parse(key)] });"
        "const { body } = await transport('', campaign, Buffer.from(report, 'hex'));"
        "console.log(Buffer.from(body).toString('hex'));"
    )
    command = ["node", "--input-type=module", "--eval", script, json.dumps(key), campaign, report.hex()]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=True)
    sealed = bytes.fromhex(done.stdout.strip())
    assert len(sealed) == sealing.SEALED_BYTES
    assert sealed[:8].hex() == key["id"]
    assert sealing.unseal(sealed[8:], private, bytes.fromhex(campaign)) == report
    with pytest.raises(ReportError):
        sealing.unseal(sealed[8:], private, bytes(32))  # of another campaign
