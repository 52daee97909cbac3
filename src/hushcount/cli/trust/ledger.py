"""`hushcount ledger`: budgets that cannot be overspent, their history, and how to check it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hushcount.cli import show
from hushcount.cli.options import choice, flag, options, text, whole
from hushcount.cli.trust.ledger_tables import print_datasets, print_history, rounded
from hushcount.errors import BudgetExceeded, LedgerError

if TYPE_CHECKING:
    from hushcount.jobs.trust.schedules import Cost

EPILOG = """\b
Example:
  hushcount ledger init spent.db --dataset searches --epsilon 1 --delta 1e-6
  hushcount ledger show spent.db
  hushcount ledger history spent.db --dataset searches
  hushcount ledger verify spent.db
"""
UNITS = ("event", "result-row", "user", "user-window")
LEDGER = click.argument("ledger", envvar="HUSHCOUNT_LEDGER")
DATASET = text("--dataset NAME", "The data that the budget is for.", required=True)
EPSILON = text("--epsilon E", "Limit on the privacy loss of all releases together, such as 1.")
RHO = text("--rho R", "In place of --epsilon: what Gaussian releases may spend together, in zCDP.")
DELTA = text("--delta D", "Probability with which that limit may fail, such as 1e-6.", required=True)
SLACK = text(
    "--slack S",
    "Part of --delta that pays for adding up many small releases. Default: half of it; 0 suits a few"
    " large releases.",
)
PROTECTED = (
    choice(
        "--unit",
        "What is protected: one event, one row of the result of each query (--sql), one user, or the rows of"
        " one user in one cell of time.",
        UNITS,
        default=UNITS[0],
    ),
    text("--cell LENGTH", "Length of a cell for --unit user-window, such as 1d or 6h."),
    text("--time-zone ZONE", "Zone on whose clocks cells begin, as Europe/Zurich (UTC)."),
)
SCHEDULED = (
    text("--dataset NAME", "Charge the schedule to this dataset; without it, only compute."),
    text("--name NAME", "Its runs are NAME/....", default="schedule"),
    whole("--releases N", "How many releases, such as 365.", required=True),
    text("--epsilon E", "Largest epsilon of one release."),
    text("--rho R", "With --mechanism, in place of --epsilon: rho (zCDP) of one release."),
    text("--delta D", "Largest delta of one release.", required=True),
    text("--total-delta T", "Delta of all of them together.", required=True),
    text(
        "--mechanism NAME",
        "All releases have the noise of this mechanism, which costs less than other noise of this epsilon.",
    ),
    whole(
        "--counts L",
        "With --mechanism: noisy counts that one unit changes, such as --max-keys of exact counts, the"
        " counters of a sketch of users, the depth of an oracle, or the height of a tree plus 1.",
    ),
    text("--window FROM/TO", "Rows of all releases are of this time, which is then all that is charged."),
    text("--time COLUMN", "With --window: the column of the time of each row."),
    text("--time-zone ZONE", "Zone of --window and of times without one, such as Europe/Zurich (UTC)."),
    text(
        "--question HASH|any",
        "Pay for this question alone, as --dry-run --json of a release names it, or for any. Without it, for"
        " the question of the first run.",
    ),
    flag("--dry-run", "Say what the schedule would cost and leave; nothing is charged."),
)
UNSEEN = (
    "No witness was asked, so an older copy in its place would look the same; give an earlier export with"
    " --witness."
)
PAYS_FOR = {"": "that of the first run", "any": "any"}
JSON = flag("--json as_json", "Print one JSON object, with numbers as texts, exactly as stored.")


@click.group(epilog=EPILOG)
def ledger() -> None:
    """Keep budgets that cannot be overspent.

    A ledger is a file (LEDGER), or a PostgreSQL database that a team shares (postgresql://...). It has
    a budget for each dataset. Commands that draw noise take --ledger and --dataset: they record what
    they spend before they read data, and stop if the budget does not allow it.
    """


@ledger.command()
@LEDGER
@options(DATASET, EPSILON, RHO, DELTA, *PROTECTED, SLACK, JSON)
def init(as_json: bool, ledger: str, dataset: str, **terms: str) -> None:
    """Give a dataset its budget, and make LEDGER if there is none.

    The budget holds for all releases together, also if each is chosen after the earlier ones were seen.
    """
    from hushcount.jobs.trust.ledger import BudgetLedger

    print_datasets([BudgetLedger(ledger).init(dataset, **terms)], as_json)


@ledger.command()
@LEDGER
@options(DATASET, EPSILON, RHO, DELTA, SLACK, JSON)
def grant(as_json: bool, ledger: str, dataset: str, **terms: str) -> None:
    """Add a budget to a dataset.

    What is promised becomes weaker: the epsilons and deltas of both budgets add up.
    """
    from hushcount.jobs.trust.ledger import BudgetLedger

    print_datasets([BudgetLedger(ledger).grant(dataset, **terms)], as_json)


@ledger.command(name="show")
@LEDGER
@options(text("--dataset NAME", "Only this dataset."), JSON)
def show_(ledger: str, dataset: str | None, as_json: bool) -> None:
    """Show what each dataset may spend, has spent and has left.

    If releases are of windows of time, it is shown for the moment that was charged most.
    What is left is the largest single release that would be allowed now.
    """
    from hushcount.jobs.trust.ledger import BudgetLedger

    print_datasets(BudgetLedger(ledger).show(dataset), as_json)


@ledger.command()
@LEDGER
@options(DATASET, JSON)
def history(ledger: str, dataset: str, as_json: bool) -> None:
    """List all entries of a dataset, oldest first."""
    from hushcount.jobs.trust.ledger import BudgetLedger

    entries = BudgetLedger(ledger).history(dataset)
    if as_json:
        show.print_json({"entries": entries})
        return
    print_history(entries)


@ledger.command()
@LEDGER
@options(text("--witness FILE", "An earlier export, of which LEDGER must be a continuation."), JSON)
def verify(ledger: str, witness: str | None, as_json: bool) -> None:
    """Check that LEDGER is intact: chain, sums, answers, and that it was not rolled back.

    The witness LEDGER.head is always checked. Exit code 1 means that the ledger is not intact.
    """
    from hushcount.jobs.trust.ledger import BudgetLedger

    found = BudgetLedger(ledger)
    problems, witnessed = found.verify(witness), witness is not None or found.has_witness
    if as_json:
        show.print_json({"intact": not problems, "problems": problems, "witnessed": witnessed})
    for problem in () if as_json else problems:
        show.warn(problem)
    if problems:
        raise LedgerError("The ledger is not intact.")
    if not as_json:
        click.echo("The ledger is intact.")
        if not witnessed and "://" not in ledger:  # whoever runs a server keeps it from being put back
            show.warn(UNSEEN)


@ledger.command()
@LEDGER
@text("--output -o FILE", "Where to write the JSON file.", required=True)
def export(ledger: str, output: str) -> None:
    """Write all entries to a file: a witness for `verify`, which may be published.

    Neither answers nor anything about the data are in it.
    """
    from hushcount.jobs.trust.ledger import BudgetLedger

    BudgetLedger(ledger).export(output)
    show.say(
        ("Export", (f"{output} has all entries. Keep it where those who write the ledger cannot change it.",))
    )


@ledger.command()
@click.argument("ledger", required=False, envvar="HUSHCOUNT_LEDGER")
@options(*SCHEDULED, JSON)
def schedule(as_json: bool, ledger: str | None, dataset: str | None, name: str, **asked: object) -> None:
    """Compute what a fixed number of equal releases costs, and charge it in advance.

    A number of releases that is fixed beforehand costs less than the same releases chosen one by one. Runs
    with --run-id NAME/... belong to it and cost nothing more, if they ask its question of its window.
    """
    from hushcount.jobs.trust.ledger import BudgetLedger
    from hushcount.jobs.trust.schedules import Cost, Releases

    if dataset is not None and ledger is None:
        raise click.UsageError("--dataset needs LEDGER.")
    if charged := ledger is not None and dataset is not None:
        found = BudgetLedger(ledger).schedule(str(dataset), name, **asked)  # type: ignore[arg-type]
    else:
        asked.pop("dry_run")
        found = Cost(Releases(**asked).schedule(name))  # type: ignore[arg-type]
    if as_json:
        show.print_json(found.to_dict())
    else:
        show.print_facts(_costs(found, asked, dataset if charged else None))
    if found.preview is not None and found.preview.refusal:
        raise BudgetExceeded(found.preview.refusal)


def _costs(found: Cost, asked: dict[str, object], dataset: str | None) -> dict[str, str]:
    """Return what a schedule costs, in words."""
    cost, plan = found.to_dict(), found.schedule
    each = {name: f"{name} {asked[name]}" for name in ("epsilon", "rho", "delta") if asked[name] is not None}
    charged = "nothing: this was a computation" if dataset is None else f"to {dataset}"
    if found.preview is not None:
        charged = " ".join((*found.preview.sentences, "This was a dry run: nothing was charged."))
    return {
        "releases": f"{asked['releases']}, each with {' and '.join(each.values())}",
        "together": f"epsilon {rounded(cost['epsilon'])} at delta {cost['delta']}",
        "added up": f"epsilon {rounded(cost['basic_epsilon'])}",
        "rows": "of all times" if plan.window is None else f"of {plan.window}",
        "question": PAYS_FOR.get(plan.question, plan.question),
        "charged": charged,
    }
