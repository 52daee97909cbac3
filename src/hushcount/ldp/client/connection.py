"""A campaign of a collector, as a program that reports to it sees it: `hushcount.ldp.connect`.

What was drawn is on disk before it is sent, and stays there until the collector or the relay has it. So a
crash or a day without network costs no report, and never leads to a second one.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from hushcount.errors import DataError, ManifestError, ParameterError
from hushcount.files.atomic import PRIVATE, Outputs
from hushcount.ldp.client.client import Client
from hushcount.ldp.client.http import ask, checked_url
from hushcount.ldp.client.state import ClientState
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.versions import CAMPAIGN_BYTES

REPORT = "application/vnd.hushcount.report"
SEALED = "application/vnd.hushcount.sealed"
TAKEN = (202, 409)  # it is stored now, or was before
LATER = (408, 429, 500, 502, 503, 504)
_TOKEN = "connect again with a token that the campaign takes, and call flush"
# What the user can mend: the report is kept, and this is the way out.
MENDED = {
    401: _TOKEN,
    403: _TOKEN,
    404: "connect again with the right addresses of the campaign and its relay, and call flush",
}
KEPT = "The report was refused, but is kept in {}: {} To send it, {}."
_STATE, _MANIFEST, _WAITING = "state", "manifest.json", ".report"


@dataclass(frozen=True, slots=True)
class Delivery:
    """How far the reports of a program are.

    Parameters
    ----------
    sent:
        How many were taken in this call.
    waiting:
        How many are on disk and will be sent by the next call of `report` or `flush`.
    """

    sent: int
    waiting: int


class Connection:
    """Reports one user's item to a campaign, once.

    Parameters
    ----------
    url:
        The address of the campaign, such as https://collector.example/v1/campaigns/ID.
    token:
        The token of the user if the campaign asks for one; as many as there are reports per user.
    folder:
        Where the user's report waits and is remembered. It belongs to one user.
    relay:
        The address of the relay, if the campaign has one: the report is then sealed for the collector.
    budget:
        The most epsilon that all campaigns of this folder together may spend.
    """

    def __init__(
        self,
        url: str,
        token: str | Sequence[str] | None,
        folder: str | os.PathLike[str],
        relay: str | None = None,
        budget: float | None = None,
    ) -> None:
        self._url = checked_url(url)
        self._relay = None if relay is None else checked_url(relay)
        self._folder = Path(folder)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.manifest = self._read_manifest()
        if self.manifest.terms.relay and relay is None:
            raise ParameterError("relay must be given: this campaign takes reports through one.")
        self._tokens = [token] if isinstance(token, str) else list(token or ())
        if self._tokens and len(self._tokens) != self.manifest.reports:
            raise ParameterError(f"token must be {self.manifest.reports} tokens, one for each report.")
        self._state = ClientState(budget, path=self._folder / _STATE)

    def report(self, item: object = None) -> Delivery:
        """Send the report of an item; the first time it is drawn, afterwards it is the same.

        Parameters
        ----------
        item:
            What the user holds. If there is none, or if it cannot be encoded, a report is sent all the same.

        Raises
        ------
        ManifestError
            If the campaign has expired.
        DataError
            If the service refuses the report; `flush` says which reports are kept.
        """
        drawn = Client(self.manifest, state=self._state).report(item)
        size = self.manifest.wire.report_bytes
        reports = [drawn[at : at + size] for at in range(0, len(drawn), size)]
        if not self._done().exists():
            for number, each in enumerate(reports):
                self._keep(each, number)
            self._write(self._done(), b"")
        return self.flush()

    async def report_async(self, item: object = None) -> Delivery:
        """Do what `report` does, without blocking other tasks."""
        return await asyncio.to_thread(self.report, item)

    def flush(self) -> Delivery:
        """Send what waits of this campaign, and return how far it is.

        Raises
        ------
        DataError
            If the service refuses a report: for good, which drops it, or for a token or an address, which
            keeps it for the next call that has the right one.
        """
        sent, waiting, refused = 0, 0, ""
        for path, report, token in self._queue():
            try:
                status, said = self._send(report, token)
            except DataError:
                waiting += 1
                continue
            if status in LATER:
                waiting += 1
            elif status in MENDED:
                refused = KEPT.format(self._folder, said, MENDED[status])
            else:
                path.unlink()
                sent += status in TAKEN
                refused = refused if status in TAKEN else f"The report was refused: {said}"
        if refused:
            raise DataError(refused)
        return Delivery(sent, waiting)

    def _queue(self) -> Iterator[tuple[Path, bytes, str | None]]:
        """Yield the reports of this campaign that wait, with their tokens: those given now, if any are."""
        for path in sorted(self._folder.glob(f"*{_WAITING}")):
            fields = json.loads(path.read_text())
            report = bytes.fromhex(fields["report"])
            if report[1:].startswith(self.manifest.campaign[:CAMPAIGN_BYTES]):
                given = self._tokens[fields.get("number", 0)] if self._tokens else fields["token"]
                yield path, report, given

    async def flush_async(self) -> Delivery:
        """Do what `flush` does, without blocking other tasks."""
        return await asyncio.to_thread(self.flush)

    def _send(self, report: bytes, token: str | None) -> tuple[int, str]:
        """Send one report, sealed if there is a relay; return the status and what is said of it."""
        url, kind = f"{self._url}/reports", REPORT
        if self._relay is not None:
            url, kind = f"{self._relay}/v1/campaigns/{self.manifest.id}/sealed", SEALED
            report = self._sealed(report)
        found = ask("POST", url, token, report, kind)
        return found.status, found.title

    def _sealed(self, report: bytes) -> bytes:
        """Return a report sealed to the key that the collector gives out now."""
        from hushcount.ldp.wire.sealing import SUITE, seal_report

        found = ask("GET", f"{self._url.partition('/v1/')[0]}/v1/keys")
        try:
            (key,) = [each for each in json.loads(found.body) if each["suite"] == SUITE]
            identity, public = bytes.fromhex(key["id"]), bytes.fromhex(key["public"])
        except (ValueError, KeyError, TypeError):
            raise DataError("The collector gives out no key to seal reports to.") from None
        return seal_report(report, identity, public, self.manifest.campaign)

    def _read_manifest(self) -> Manifest:
        """Return the manifest that is kept, or that of the collector, if its id is that of the address."""
        wanted = self._url.rpartition("/")[2]
        kept = self._folder / f"{wanted[:16]}.{_MANIFEST}"
        try:
            text = kept.read_bytes()
        except OSError:
            found = ask("GET", f"{self._url}/manifest")
            if found.status != 200:
                raise DataError(f"The manifest was not given out: {found.title}") from None
            text = found.body
        manifest = Manifest.parse(text)
        if manifest.id != wanted:
            raise ManifestError("the manifest is not that of the campaign in the address.")
        if not kept.exists():
            self._write(kept, text)
        return manifest

    def _done(self) -> Path:
        """Return the file that says that the reports of this campaign are in the queue, or were."""
        return self._folder / f"{self.manifest.id[:16]}.queued"

    def _keep(self, report: bytes, number: int) -> None:
        """Put a report into the queue, with its token."""
        name = sha256(report).hexdigest()[:32]
        token = self._tokens[number] if self._tokens else None
        fields = {"report": report.hex(), "token": token, "number": number}
        self._write(self._folder / f"{name}{_WAITING}", json.dumps(fields).encode())

    @staticmethod
    def _write(path: Path, content: bytes) -> None:
        """Write a file that only its owner can read, whole or not at all."""
        with Outputs(told=False) as outputs:
            with outputs.file(path, PRIVATE) as stream:
                stream.write(content)
            outputs.commit()


def connect(
    url: str,
    token: str | Sequence[str] | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    relay: str | None = None,
    budget: float | None = None,
) -> Connection:
    """Connect to a campaign of a collector, to report one user's item.

    Parameters
    ----------
    url:
        The address of the campaign, such as https://collector.example/v1/campaigns/ID.
    token:
        The token of the user, if the campaign asks for one.
    folder:
        Where the user's report waits and is remembered; by default .hushcount in the home folder. Users who
        share a machine need folders of their own.
    relay:
        The address of the relay, if the campaign has one.
    budget:
        The most epsilon that all campaigns of this folder together may spend; by default there is no limit.

    Returns
    -------
    Connection
        Its `report(item)` sends the report, `report_async` does so in an asynchronous program.

    Raises
    ------
    DataError
        If the collector cannot be reached and its manifest was never read.
    """
    place = Path.home() / ".hushcount" if folder is None else folder
    return Connection(url, token, place, relay, budget)
