"""Dry runs of the local model: what users would spend; nothing is randomised, published or spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from hushcount.errors import ParameterError
from hushcount.files.atomic import check_writable, refuse_same
from hushcount.jobs.ldp.collection import report_form

if TYPE_CHECKING:
    from hushcount.jobs.request import Request
    from hushcount.ldp.wire.manifest import Manifest

SPENT = "No report was made, and nothing was spent."
ALL_ROWS = "Every row is a user."
PER_USER = "Every different user of column {} is one, who reports at most {} of their items."
LOOKS_FOR = "The campaign looks for items that at least {:,} of {:,} users hold."
PAYS = (
    "epsilon {:g} of the local budget of every user who reports, each time: a second report of the same user"
    " costs it again"
)


@dataclass(frozen=True, slots=True)
class DryReports:
    """What randomising a table would read, promise, write and cost every user.

    Parameters
    ----------
    manifest : Manifest
        What the campaign asks.
    columns : dict
        The types of the columns that were found, by their names.
    files : int
        How many files would be read.
    output : str
        Where the reports would be written.
    notes : tuple of str
        Who is a user, and how rows become items.
    """

    manifest: Manifest
    columns: dict[str, str]
    files: int
    output: str
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the dry run as plain values."""
        from hushcount.ldp.server.decoding import guarantee_of

        epsilon = float(self.manifest.epsilon)
        return {
            "columns": [{"name": name, "type": kind} for name, kind in self.columns.items()],
            "files": self.files,
            "guarantee": guarantee_of(self.manifest, 0).to_dict(),
            "threshold": self.manifest.parameters.get("threshold"),
            "counted": "users",
            "outputs": [self.output],
            "cost": {"epsilon": epsilon, "delta": 0.0},
            "ledger": None,
            "notes": list(self.notes),
        }

    @property
    def facts(self) -> dict[str, str]:
        """What would be written and spent, by name and in words."""
        from hushcount.privacy import LOCAL_USER

        manifest, threshold = self.manifest, self.manifest.parameters.get("threshold")
        looks = "" if not isinstance(threshold, int) else LOOKS_FOR.format(threshold, manifest.users)
        return {
            "files": str(self.files),
            "columns": ", ".join(f"{name} ({kind})" for name, kind in self.columns.items()) or "one",
            "protects": f"{LOCAL_USER.protects} (neighbours: {LOCAL_USER.neighbours})",
            "mechanism": manifest.protocol,
            "campaign": manifest.id,
            "expected": looks or "not known for this protocol",
            "outputs": self.output,
            "cost": PAYS.format(float(manifest.epsilon)),
            "ledger": "none is charged: every user pays from a budget of their own",
            "notes": " ".join(self.notes),
            "dry run": SPENT,
        }


def dry_reports(path: str, request: Request, output: str, form: str | None) -> DryReports:
    """Return what `randomise` would do with a table, or raise as it would; no row is randomised."""
    from hushcount.jobs.ldp.tables import TWICE, paths_of
    from hushcount.ldp.server.decoding import check_work, notes_of
    from hushcount.ldp.wire.manifest import Manifest

    manifest = Manifest.load(path)
    manifest.refuse_expired()
    check_work(manifest)
    if report_form(output, form) == "batch":
        raise ParameterError("A batch is what a relay writes; use packed or hex.")
    if isinstance(request.column, list):
        raise ParameterError("Items are one column, so give --column once.")
    if request.user is not None and request.data == "-":
        raise ParameterError(TWICE)
    refuse_same([output], [path, *paths_of(request)])
    check_writable(output)
    source = request.open()
    who = ALL_ROWS if request.user is None else PER_USER.format(request.user, manifest.reports)
    found = dict(zip(source.columns.names, map(str, source.columns.types), strict=False))
    return DryReports(manifest, found, len(source.inputs), output, (who, *source.notes, *notes_of(manifest)))


def dry_campaign(found: dict[str, object], threshold: float | None) -> dict[str, object]:
    """Return what releasing a campaign would publish and cost, from what a collector says of it."""
    guarantees = cast("dict[str, dict[str, object] | None]", found["guarantees"])
    return {
        "campaign": found["id"],
        "state": found["state"],
        "reports": found["reports"],
        "released": found["released"],
        "threshold": threshold,
        "smallest_count_found": cast("dict[str, object]", found["least_detectable"])["now"],
        "local": guarantees["local"],
        "central": guarantees["central"],
    }


def campaign_facts(would: dict[str, object]) -> dict[str, str]:
    """Return in words what releasing a campaign would publish and cost."""
    least, central = would["smallest_count_found"], cast("dict[str, object] | None", would["central"])
    local = cast("dict[str, object]", would["local"])
    cost = "nothing: every report is private by itself"
    if central is not None:
        cost = (
            f"the central guarantee, epsilon {central['epsilon']} and delta {central['delta']}, once for all"
            " releases of the campaign, if the collector keeps a ledger"
        )
    return {
        "campaign": f"{would['campaign']}, {would['state']}",
        "reports": f"{would['reports']:,}",
        "protects": f"one user: every report is {local['epsilon']}-locally differentially private",
        "threshold": "that of the manifest" if would["threshold"] is None else f"{would['threshold']:g}",
        "smallest count found": "not known" if least is None else f"{least:,.0f} users",
        "outputs": "the heavy hitters, which everybody who asks the collector may then see",
        "released": "nothing yet" if not would["released"] else "something already; it would be replaced",
        "cost": cost,
        "dry run": "Nothing was released, and nothing was spent.",
    }
