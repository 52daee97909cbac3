"""Dry runs: what a release would read, protect, show, write and cost; no noise is drawn, nothing is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from textwrap import fill
from typing import cast

from hushcount.accounting.runs import REFUSED, Preview
from hushcount.jobs.checkpoints import NOWHERE, Origin
from hushcount.jobs.release import check_total
from hushcount.jobs.run import Ask, Published, Running, open_run, run
from hushcount.jobs.settings import ReleaseSettings, Settings
from hushcount.jobs.sketch_files import open_sketches
from hushcount.jobs.trust.spending import Spending
from hushcount.mechanisms.base import Mechanism, ShapeT
from hushcount.mechanisms.forecast import Expected
from hushcount.privacy import EVENT, USER, Guarantee, PrivacyUnit
from hushcount.releases.accuracy import EVENTS
from hushcount.releases.key_list import KEYS_ONLY
from hushcount.releases.writers import Form
from hushcount.shapes import Shape
from hushcount.sources.wrapped import BoundedSource

WIDTH = 100
# Who holds a key of which no count is published, by what is protected.
HOLDERS = {EVENT.name: "events", USER.name: "users who hold no other key"}


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a release would be, without any noise and at no cost.

    Parameters
    ----------
    columns : dict
        The types of the columns that were found, by their names.
    files : int
        How many files would be read.
    guarantee : Guarantee
        What the release would promise, with the numbers of its calibration.
    expected : Expected
        What it would show.
    noun : str
        What a count would be a number of.
    outputs : tuple of str
        The files that would be written.
    notes : tuple of str
        How rows become events, and why this mechanism.
    ledger : Preview, optional
        What the ledger would do with it, if one is named.
    """

    columns: dict[str, str]
    files: int
    guarantee: Guarantee
    expected: Expected
    noun: str
    outputs: tuple[str, ...]
    notes: tuple[str, ...]
    ledger: Preview | None = None

    @classmethod
    def of(
        cls, mechanism: Mechanism[Shape, Published], origin: Origin, files: int, settings: Settings, noun: str
    ) -> DryRun:
        """Return what a release of opened data by a calibrated mechanism would be."""
        return cls(
            dict(zip(origin.columns.names, map(str, origin.columns.types), strict=False)),
            files,
            mechanism.foretold(origin.unit),
            Expected.of(mechanism),
            noun,
            tuple(Form.of(path).shown for path in settings.outputs if path is not None),
            origin.notes,
        )

    def to_dict(self) -> dict[str, object]:
        """Return the dry run as plain values."""
        return {
            "columns": [{"name": name, "type": kind} for name, kind in self.columns.items()],
            "files": self.files,
            "guarantee": self.guarantee.to_dict(),
            **asdict(self.expected),
            "counted": self.noun,
            "outputs": list(self.outputs),
            "cost": {"epsilon": self.guarantee.epsilon, "delta": self.guarantee.delta},
            "ledger": None if self.ledger is None else self.ledger.to_dict(),
            "notes": list(self.notes),
        }

    @property
    def refused(self) -> bool:
        """Whether the ledger would refuse the release."""
        return self.ledger is not None and self.ledger.outcome == REFUSED

    @property
    def facts(self) -> dict[str, str]:
        """What the release would be, by name and in words."""
        promise, numbers = self.guarantee, self.guarantee.parameters
        return {
            "files": str(self.files),
            "columns": ", ".join(f"{name} ({kind})" for name, kind in self.columns.items()) or "one",
            "protects": f"{promise.unit.protects} (neighbours: {promise.unit.neighbours})",
            "mechanism": promise.mechanism,
            "calibration": ", ".join(f"{name.replace('_', ' ')} {numbers[name]}" for name in numbers),
            "expected": self.expected.words(self.noun),
            "outputs": ", ".join(self.outputs) or "none",
            "cost": f"epsilon {promise.epsilon:g}, delta {promise.delta:g}{promise.zcdp}",
            "ledger": "none is named" if self.ledger is None else " ".join(self.ledger.sentences),
            "notes": " ".join(self.notes),
            "dry run": "No noise was drawn, and nothing was spent.",
        }

    def __str__(self) -> str:
        width = max(map(len, self.facts))
        return "\n".join(
            fill(f"{name:{width}}  {words}", WIDTH, subsequent_indent=" " * (width + 2))
            for name, words in self.facts.items()
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(words)}</td></tr>" for name, words in self.facts.items()
        )
        return f"<table>{rows}</table>"


def run_or_rehearse(job: tuple[Ask[Published], Running], values: Mapping[str, object]) -> Published:
    """Do a job, or return what it would do if `dry_run` is asked for."""
    return cast("Published", dry_run(*job)) if values.get("dry_run") else run(*job)


def dry_run(ask: Ask[Published], running: Running) -> DryRun:
    """Return what a job would do: prepare its mechanism and open its source, or raise as the job would."""
    sketch, mechanism = ask.prepare()
    source = open_run(ask.request, sketch, running.checkpoint, ask.settings.outputs).source
    columns = (source.source if isinstance(source, BoundedSource) else source).columns  # that of users too
    notes, counted = ask.described()
    origin = replace(Origin.of(source), columns=columns, notes=(*source.notes, *notes))
    preview = ask.request.preview(ask.planned(mechanism, source))
    known = cast("Mechanism[Shape, Published]", mechanism)
    noun = HOLDERS.get(source.unit.name, "rows") if counted == KEYS_ONLY else counted.noun
    return replace(DryRun.of(known, origin, len(source.inputs), ask.settings, noun), ledger=preview)


def dry_release(
    paths: Sequence[str], settings: ReleaseSettings, spending: Spending, threshold: int | None = None
) -> DryRun:
    """Return what a release of sketch files would be, or raise as the release would."""
    release, origin = open_sketches(paths, settings, threshold)
    if release.is_tree:
        return release.dry(spending)
    mechanism = release.mechanism()
    check_total(release.sketch, release.shape, settings.max_events)
    preview = spending.preview(release.planned(mechanism, spending))
    return replace(DryRun.of(mechanism, origin, len(paths), settings, EVENTS.noun), ledger=preview)


def dry_sketch(
    mechanism: Mechanism[ShapeT, Published], settings: Settings, preview: Preview | None, unit: PrivacyUnit
) -> DryRun:
    """Return what a release of sketches in memory would be."""
    origin, known = replace(NOWHERE, unit=unit), cast("Mechanism[Shape, Published]", mechanism)
    return replace(DryRun.of(known, origin, 0, settings, EVENTS.noun), ledger=preview)
