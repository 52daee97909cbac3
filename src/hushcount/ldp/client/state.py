"""What a client remembers: its report for each campaign, and the epsilon it has spent. Pure Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from threading import Lock

from hushcount.errors import DataError, ParameterError, cannot_read
from hushcount.files import container
from hushcount.files.atomic import alone
from hushcount.ldp.wire.manifest import Manifest, canonical
from hushcount.ldp.wire.response import epsilon_text
from hushcount.ldp.wire.versions import CAMPAIGN_BYTES, VERSIONS

STATE_VERSION = 2
_WITHOUT_CHECKSUM = 1  # the version of states written before there was a checksum
_KIND, _WHAT = "ldp-client", "client state"  # of the file


class ClientState:
    """Reports by campaign, and a limit on the epsilon that all campaigns together may spend.

    A second report for a campaign is the stored one, whatever its nonce and item, because a fresh one would
    spend epsilon again. An edited manifest has another id and is another campaign. A campaign that would
    exceed the budget gets a uniform report, which spends nothing.

    Parameters
    ----------
    budget:
        Most epsilon that all campaigns together may spend; by default there is no limit.
    path:
        File to keep the state in. Every report is stored there before it is returned, so a crash cannot lead
        to a second fresh one. Other processes and threads that use the same file wait for each other.

    Raises
    ------
    DataError
        If the file is damaged: starting afresh would spend epsilon again.
    """

    __slots__ = ("_lock", "_path", "_reports", "budget")

    def __init__(self, budget: float | str | None = None, *, path: str | Path | None = None) -> None:
        self.budget = None if budget is None else _budget_text(budget)
        self._reports: dict[str, tuple[str, bytes]] = {}  # by campaign: epsilon spent, report
        self._path = None if path is None else Path(path)
        self._lock = Lock()
        self._reload()

    @property
    def spent(self) -> Fraction:
        """The epsilon that all stored reports have spent."""
        return sum((Fraction(epsilon) for epsilon, _ in self._reports.values()), Fraction(0))

    def report_of(self, manifest: Manifest) -> bytes | None:
        """Return the stored report for the campaign of a manifest, or None."""
        stored = self._reports.get(manifest.id)
        return None if stored is None else stored[1]

    def affords(self, manifest: Manifest) -> bool:
        """Return whether the budget covers the epsilon of the campaign of a manifest."""
        return self.budget is None or self.spent + Fraction(manifest.epsilon) <= Fraction(self.budget)

    def once(self, manifest: Manifest, draw: Callable[[bool], bytes]) -> bytes:
        """Return the stored report for a campaign, or draw a fresh one and store it first.

        Parameters
        ----------
        manifest:
            The campaign.
        draw:
            Makes the report; its argument says whether the budget covers the campaign.
        """
        with self._exclusively():
            stored = self.report_of(manifest)
            if stored is not None:
                return stored
            affordable = self.affords(manifest)
            report = draw(affordable)
            self._remember(manifest, report, affordable)
            return report

    @contextmanager
    def _exclusively(self) -> Iterator[None]:
        """Lock the state and reload it, so that no other thread or process uses it meanwhile."""
        with self._lock, nullcontext() if self._path is None else alone(self._path):
            self._reload()
            yield

    def _remember(self, manifest: Manifest, report: bytes, spends: bool) -> None:
        """Store the report for a campaign and what it spends; if there is a file, there first."""
        entry = (manifest.epsilon if spends else "0", report)
        if self._path is not None:
            fields = _fields(self.budget, {**self._reports, manifest.id: entry})
            container.write(self._path, container.Contents(_KIND, fields))
        self._reports[manifest.id] = entry

    def to_json(self) -> str:
        """Return the state as JSON with a checksum, for any storage."""
        fields = _fields(self.budget, self._reports)
        return canonical({**fields, "checksum": _checksum(fields)}).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> ClientState:
        """Read a state that `to_json` wrote, or raise DataError if it is damaged.

        Parameters
        ----------
        text:
            The JSON, as text or bytes. States of earlier versions, which have no checksum, are read too.
        """
        try:
            fields = json.loads(text)
            _check(fields)
            return cls._of(fields)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise DataError("the state of the client is damaged or of another version.") from None

    @classmethod
    def _of(cls, fields: container.Fields) -> ClientState:
        """Return the state that the fields of a file describe, or raise."""
        state = cls(fields["budget"])
        state._reports = {campaign: _entry(campaign, entry) for campaign, entry in fields["reports"].items()}
        return state

    def _reload(self) -> None:
        """Take over what the file holds, if there is one; its budget must be the same."""
        if self._path is None:
            return
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise DataError(cannot_read(self._path, error)) from None
        stored = self._read(data)
        if stored.budget != self.budget:
            raise ParameterError(f"budget must be the stored one, {stored.budget}, got {self.budget}.")
        self._reports = stored._reports | self._reports

    def _read(self, data: bytes) -> ClientState:
        """Return the state in the bytes of a file; those of earlier versions are JSON."""
        if data.startswith(b"{"):
            return self.from_json(data)
        found = container.read(data, _WHAT)
        if found.kind != _KIND:
            raise DataError(f"{self._path} is not a hushcount {_WHAT}.")
        return container.fitted(str(self._path), lambda: self._of(found.fields))


def _budget_text(budget: float | str) -> str:
    """Return the budget as a decimal, or raise."""
    try:
        return epsilon_text(budget)
    except ParameterError as error:
        raise ParameterError("budget: " + str(error)) from None


def _fields(budget: str | None, entries: Mapping[str, tuple[str, bytes]]) -> container.Fields:
    """Return a state as fields that JSON can express."""
    reports = {
        campaign: {"epsilon": epsilon, "report": report.hex()}
        for campaign, (epsilon, report) in entries.items()
    }
    return {"version": STATE_VERSION, "budget": budget, "reports": reports}


def _checksum(fields: Mapping[str, object]) -> str:
    """Return the SHA-256 of fields in hexadecimal digits."""
    return sha256(canonical(fields)).hexdigest()


def _check(fields: dict[str, object]) -> None:
    """Raise ValueError unless the fields are those of a known version and match their checksum."""
    found = fields.pop("checksum", None)
    known = fields.keys() == {"version", "budget", "reports"} and type(fields["version"]) is int
    if known and fields["version"] == STATE_VERSION and found == _checksum(fields):
        return
    if not known or fields["version"] != _WITHOUT_CHECKSUM or found is not None:
        raise ValueError


def _entry(campaign: str, fields: Mapping[str, str]) -> tuple[str, bytes]:
    """Return the epsilon spent and the reports stored for a campaign, or raise if one is of another."""
    epsilon = fields["epsilon"]
    report = bytes.fromhex(fields["report"])
    if len(campaign) != 64 or not _of_campaign(report, bytes.fromhex(campaign)):
        raise ValueError
    if epsilon != "0" and epsilon_text(epsilon) != epsilon:
        raise ValueError
    return epsilon, report


def _of_campaign(reports: bytes, campaign: bytes) -> bool:
    """Return whether these are whole reports of a campaign, of one version."""
    if not reports:
        return False
    wire = VERSIONS[reports[0]]
    begins = bytes((wire.version,)) + campaign[:CAMPAIGN_BYTES]
    starts = range(0, len(reports), wire.report_bytes)
    return len(reports) % wire.report_bytes == 0 and all(reports.startswith(begins, at) for at in starts)
