"""What a client remembers: its report for each campaign, and what all of them have spent. Pure Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from threading import Lock
from typing import Any

from hushcount.errors import DataError, ParameterError
from hushcount.files.atomic import PRIVATE, atomic_file
from hushcount.ldp.locked_file import alone, make_durable
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.report import CAMPAIGN_BYTES, REPORT_BYTES, REPORT_VERSION
from hushcount.ldp.wire.response import epsilon_text

STATE_VERSION = 1


class ClientState:
    """Reports by campaign id, and a budget of epsilon for all campaigns together.

    A second report for a campaign is the stored one, whatever its nonce and item: a fresh one would spend
    epsilon again. An edited manifest has another id and is another campaign. A campaign that would exceed
    the budget gets a uniform report, which spends nothing. With a `path`, every report is stored in the file
    before it is handed over, so a crash cannot lead to a second fresh one; other processes and threads
    with the same file wait for each other, and see what the others have spent.
    """

    __slots__ = ("_lock", "_path", "_reports", "budget")

    def __init__(self, budget: float | str | None = None, *, path: str | Path | None = None) -> None:
        self.budget = None if budget is None else _budget_text(budget)
        self._reports: dict[str, tuple[str, bytes]] = {}  # by campaign: epsilon spent, report
        self._path = None if path is None else Path(path)
        self._lock = Lock()
        self._adopt()

    @property
    def spent(self) -> Fraction:
        """The epsilon that all stored reports have spent."""
        return sum((Fraction(epsilon) for epsilon, _ in self._reports.values()), Fraction(0))

    def report_of(self, manifest: Manifest) -> bytes | None:
        """The stored report for a campaign, if there is one."""
        if not self._reports:
            return None
        _, report = self._reports.get(manifest.id, ("0", None))
        return report

    def affords(self, manifest: Manifest) -> bool:
        """Whether the budget covers the epsilon of a campaign."""
        return self.budget is None or self.spent + Fraction(manifest.epsilon) <= Fraction(self.budget)

    def once(self, manifest: Manifest, draw: Callable[[bool], bytes]) -> bytes:
        """The stored report for a campaign, or a fresh one, which is stored first.

        `draw` makes it, and is told whether the budget covers the campaign.
        """
        with self._alone():
            stored = self.report_of(manifest)
            if stored is not None:
                return stored
            affordable = self.affords(manifest)
            report = draw(affordable)
            self._remember(manifest, report, affordable)
            return report

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else looks at the state or changes it; what others have stored is known."""
        if self._path is None:
            with self._lock:
                yield
            return
        with self._lock, alone(self._path):
            self._adopt()
            yield

    def _remember(self, manifest: Manifest, report: bytes, spends: bool) -> None:
        """Store the report for a campaign, and what it spends: in the file first, where there is one."""
        entry = (manifest.epsilon if spends else "0", report)
        if self._path is not None:
            with atomic_file(self._path, PRIVATE) as stream:
                stream.write(_json(self.budget, {**self._reports, manifest.id: entry}).encode() + b"\n")
            make_durable(self._path)
        self._reports[manifest.id] = entry

    def to_json(self) -> str:
        """The state as JSON, for any storage."""
        return _json(self.budget, self._reports)

    @classmethod
    def from_json(cls, text: str | bytes) -> ClientState:
        """Read a state; a damaged one is refused, because starting afresh would spend again."""
        try:
            fields = json.loads(text)
            if set(fields) != {"version", "budget", "reports"} or fields["version"] != STATE_VERSION:
                raise ValueError
            state = cls(fields["budget"])
            state._reports = {
                campaign: _entry(campaign, entry) for campaign, entry in fields["reports"].items()
            }
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise DataError("the state of the client is damaged or of another version.") from None
        return state

    def _adopt(self) -> None:
        """Take over what the file holds, if there is one; its budget must be the one asked for."""
        if self._path is None:
            return
        try:
            stored = self.from_json(self._path.read_bytes())
        except FileNotFoundError:
            return
        except OSError as error:
            raise DataError(
                f"Cannot read {self._path}: {(error.strerror or 'input/output error').lower()}."
            ) from None
        if stored.budget != self.budget:
            raise ParameterError(f"budget must be the stored one, {stored.budget}, got {self.budget}.")
        self._reports = stored._reports | self._reports


def _budget_text(budget: float | str) -> str:
    try:
        return epsilon_text(budget)
    except ParameterError as error:
        raise ParameterError("budget: " + str(error)) from None


def _json(budget: str | None, entries: Mapping[str, tuple[str, bytes]]) -> str:
    reports = {
        campaign: {"epsilon": epsilon, "report": report.hex()}
        for campaign, (epsilon, report) in entries.items()
    }
    state = {"version": STATE_VERSION, "budget": budget, "reports": reports}
    return json.dumps(state, sort_keys=True, separators=(",", ":"))


def _entry(campaign: str, fields: Any) -> tuple[str, bytes]:
    """What is stored for a campaign: the epsilon spent, and a report that is of this campaign."""
    epsilon = fields["epsilon"]
    report = bytes.fromhex(fields["report"])
    begins = bytes((REPORT_VERSION,)) + bytes.fromhex(campaign)[:CAMPAIGN_BYTES]
    if len(report) != REPORT_BYTES or not report.startswith(begins) or len(campaign) != 64:
        raise ValueError
    if epsilon != "0" and epsilon_text(epsilon) != epsilon:
        raise ValueError
    return epsilon, report
