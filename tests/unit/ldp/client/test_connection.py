"""The Python client against a running collector: once, later, and never twice."""

import asyncio

import pytest
from tests.collector import ADMIN_TOKEN, campaign, serving

from hushcount import ldp
from hushcount.errors import DataError, ManifestError, ParameterError
from hushcount.ldp.client.http import checked_url
from hushcount.service.admin import Administrator


@pytest.fixture
def made(tmp_path):
    manifest = campaign()
    manifest.save(tmp_path / "manifest.json")
    with serving(tmp_path / "store.db") as (_, url):
        admin = Administrator(url, ADMIN_TOKEN)
        admin.make(str(tmp_path / "manifest.json"), "open", ())
        yield admin, f"{url}/v1/campaigns/{manifest.id}", manifest


def test_a_user_reports_once(made, tmp_path):
    admin, url, manifest = made
    for item in (7, 9, None):
        found = ldp.connect(url, folder=tmp_path / "user").report(item)
        assert found.waiting == 0
    assert asyncio.run(ldp.connect(url, folder=tmp_path / "other").report_async(7)).sent == 1
    assert admin.status(manifest.id)["reports"] == 2
    assert ldp.ClientState(path=tmp_path / "user" / "state").spent == 2


def test_a_report_waits_for_the_network(made, tmp_path):
    admin, url, manifest = made
    connection = ldp.connect(url, folder=tmp_path / "user")
    away = ldp.connect(url, folder=tmp_path / "user")
    away._url = f"http://127.0.0.1:9/v1/campaigns/{manifest.id}"
    assert away.report(7) == (found := away.flush())
    assert (found.sent, found.waiting) == (0, 1)
    assert admin.status(manifest.id)["reports"] == 0
    files = list((tmp_path / "user").glob("*.report"))
    assert [each.stat().st_mode & 0o777 for each in files] == [0o600]
    assert asyncio.run(connection.flush_async()).sent == 1
    assert connection.report(7).sent == 0
    assert admin.status(manifest.id)["reports"] == 1


def test_what_is_refused_for_good(made, tmp_path):
    admin, url, manifest = made
    admin.close(manifest.id)
    with pytest.raises(DataError, match="ended"):
        ldp.connect(url, folder=tmp_path / "user").report(7)
    assert not list((tmp_path / "user").glob("*.report"))


@pytest.fixture
def with_tokens(tmp_path):
    """A campaign that takes reports with tokens only."""
    manifest = campaign()
    manifest.save(tmp_path / "secret.json")
    with serving(tmp_path / "tokens.db") as (_, url):
        admin = Administrator(url, ADMIN_TOKEN)
        admin.make(str(tmp_path / "secret.json"), "token", ())
        other = campaign()
        other.save(tmp_path / "other.json")
        admin.make(str(tmp_path / "other.json"), "open", ())
        yield admin, f"{url}/v1/campaigns/{manifest.id}", manifest, f"{url}/v1/campaigns/{other.id}"


def test_a_wrong_token_is_mended(with_tokens, tmp_path):
    admin, url, manifest, other = with_tokens
    (foreign,) = admin.issue(other.rpartition("/")[2], 1, "client")
    folder = tmp_path / "user"
    for wrong in (None, "a token of nobody at all", foreign):
        with pytest.raises(DataError, match=r"is kept in .*user.* a token that the campaign takes") as raised:
            ldp.connect(url, wrong, folder=folder).report(7)
        assert foreign not in str(raised.value)
    kept = [each.read_text() for each in folder.glob("*.report")]
    assert len(kept) == 1
    assert admin.status(manifest.id)["reports"] == 0
    (token,) = admin.issue(manifest.id, 1, "client")
    assert ldp.connect(url, token, folder=folder).flush().sent == 1
    assert not list(folder.glob("*.report"))
    assert admin.status(manifest.id)["reports"] == 1


def test_a_wrong_address_is_mended(made, tmp_path):
    admin, url, manifest = made
    folder = tmp_path / "user"
    away = ldp.connect(url, folder=folder)
    away._url = url.replace("/v1/campaigns/", "/v2/campaigns/")
    with pytest.raises(DataError, match=r"is kept in .* right addresses"):
        away.report(7)
    assert ldp.connect(url, folder=folder).report(9).sent == 1
    assert admin.status(manifest.id)["reports"] == 1


def test_campaigns_that_share_a_folder_send_their_own_reports(with_tokens, tmp_path):
    admin, url, manifest, other = with_tokens
    with pytest.raises(DataError, match="is kept"):
        ldp.connect(url, "a token of nobody at all", folder=tmp_path / "user").report(7)
    assert ldp.connect(other, folder=tmp_path / "user").report(9).sent == 1
    assert len(list((tmp_path / "user").glob("*.report"))) == 1
    (token,) = admin.issue(manifest.id, 1, "client")
    assert ldp.connect(url, token, folder=tmp_path / "user").report(7).sent == 1


def test_wrong_addresses(made, tmp_path):
    _, url, manifest = made
    with pytest.raises(DataError, match="not given out"):
        ldp.connect(url[:-1] + ("0" if url[-1] != "0" else "1"), folder=tmp_path / "a")
    with pytest.raises(DataError, match="cannot be reached"):
        ldp.connect(f"http://127.0.0.1:9/v1/campaigns/{manifest.id}", folder=tmp_path / "b")
    (tmp_path / "c").mkdir()
    other = campaign()
    (tmp_path / "c" / f"{manifest.id[:16]}.manifest.json").write_text(other.to_json())
    with pytest.raises(ManifestError):
        ldp.connect(url, folder=tmp_path / "c")
    with pytest.raises(ParameterError, match="1 tokens"):
        ldp.connect(url, ["one", "two"], folder=tmp_path / "d")
    for bad in ("ftp://a", "http://", "http://me:secret@a", "http://a?b"):
        with pytest.raises(ParameterError):
            checked_url(bad)
