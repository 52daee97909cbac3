"""`hc.Ledger`: budgets are made, added to, shown, checked and copied, in Python and by `hushcount ledger`."""

from __future__ import annotations

import json
import os

from hushcount.accounting import checks, inspection
from hushcount.accounting.chain import read_witness, witness_file
from hushcount.accounting.decimals import Number
from hushcount.accounting.filter import Filter
from hushcount.accounting.inspection import Fields
from hushcount.accounting.ledger import Ledger
from hushcount.accounting.runs import EVENT, USER_WINDOW
from hushcount.accounting.windows import cell_text
from hushcount.errors import ParameterError
from hushcount.files.atomic import PathLike, atomic_file, refuse_same
from hushcount.jobs.trust.schedules import Cost, Releases
from hushcount.jobs.trust.spending import DEFAULT
from hushcount.stores.database import is_server, shown

DAY = "1d"
ONE_WAY = "Give epsilon, or rho for a budget in zero-concentrated differential privacy, but not both."
LINE = (
    "{dataset}: epsilon {spent[epsilon]} of {budget[epsilon]} and delta {spent[delta]} of {budget[delta]}"
    " spent (releases: {releases}); one with epsilon at most {left[epsilon]} and delta at most"
    " {left[delta]} would fit. Protects {protects}."
)


def _budget(epsilon: Number | None, rho: Number | None, delta: Number, slack: Number | None) -> Filter:
    """Return the budget that is asked for, stated by epsilon or by rho, or raise."""
    if epsilon is not None and rho is None:
        return Filter.fixed(epsilon, delta, slack)
    if rho is None or epsilon is not None:
        raise ParameterError(ONE_WAY)
    return Filter.zcdp(rho, delta, slack)


class BudgetLedger:
    """A ledger of privacy budgets, `hc.Ledger`: an SQLite file, or a PostgreSQL server that a team shares.

    Releases take it as `ledger=`, with the name of a dataset. All numbers that it returns are texts, exactly
    as they are stored.

    Parameters
    ----------
    location : path or str, optional
        The path of the file, or the address of the server (postgresql://user@host/database); without it
        what HUSHCOUNT_LEDGER names.

    Examples
    --------
    >>> import tempfile
    >>> import hushcount as hc
    >>> ledger = hc.Ledger(f"{tempfile.mkdtemp()}/spent.db")
    >>> ledger.init("searches", epsilon=1, delta=1e-6)["left"]
    {'epsilon': '1', 'delta': '5e-7'}
    >>> keys = ["tea"] * 500
    >>> release = hc.top(keys, epsilon=0.3, delta=1e-8, ledger=ledger, dataset="searches", run_id="monday")
    >>> ledger.show("searches")[0]["spent"]["epsilon"]
    '0.3'
    """

    def __init__(self, location: PathLike | None = None) -> None:
        named = location or os.environ.get(DEFAULT)
        if not named:
            raise ParameterError(f"location must name the ledger, because {DEFAULT} does not.")
        self._location = os.fspath(named)

    @classmethod
    def open(cls, location: PathLike | None = None) -> BudgetLedger:
        """Return the ledger at a place, or raise if there is none.

        Parameters
        ----------
        location : path or str, optional
            The path of the file, or the address of the server; without it what HUSHCOUNT_LEDGER names.
        """
        found = cls(location)
        found.show()
        return found

    def __fspath__(self) -> str:
        return self._location

    def __repr__(self) -> str:
        return f"<Ledger at {shown(self._location)}>"

    def __str__(self) -> str:
        return "\n".join(LINE.format(**each) for each in self.show()) or f"{self!r} has no dataset."

    def init(
        self,
        dataset: str,
        *,
        delta: Number,
        epsilon: Number | None = None,
        rho: Number | None = None,
        slack: Number | None = None,
        unit: str = EVENT,
        cell: str | None = None,
        time_zone: str | None = None,
    ) -> Fields:
        """Give a dataset its first budget; the ledger is made if there is none.

        Parameters
        ----------
        dataset : str
            The name of the data that the budget is for.
        delta : str, int, float or Decimal
            Probability with which the limit may fail, of all releases together.
        epsilon : str, int, float or Decimal, optional
            Limit on the privacy loss of all releases together.
        rho : str, int, float or Decimal, optional
            In place of epsilon: the rho (zCDP) that Gaussian releases may spend together.
        slack : str, int, float or Decimal, optional
            The part of delta that pays for composing many releases: half of it, unless given; 0 suits a few
            large releases.
        unit : {"event", "result-row", "user", "user-window"}
            What is protected: one event, one row of the result of each query, one user, or the rows of one
            user in one cell of time.
        cell : str, optional
            The length of a cell for "user-window", such as "1d" (the default), "6h" or "1w".
        time_zone : str, optional
            The zone on whose clocks cells begin, such as "Europe/Zurich"; UTC without it.

        Returns
        -------
        dict
            What `show` tells of the dataset.

        Raises
        ------
        LedgerError
            If the dataset has a budget already.
        """
        wanted = DAY if cell is None and unit == USER_WINDOW else cell
        if time_zone is not None and wanted is None:
            raise ParameterError('time_zone is for the cells of unit="user-window".')
        cells = None if wanted is None else cell_text(wanted, time_zone)
        Ledger(self._location).init(dataset, _budget(epsilon, rho, delta, slack), unit, cells)
        return self.show(dataset)[0]

    def grant(
        self,
        dataset: str,
        *,
        delta: Number,
        epsilon: Number | None = None,
        rho: Number | None = None,
        slack: Number | None = None,
    ) -> Fields:
        """Add a budget to a dataset; the epsilons and deltas of all its budgets add up.

        Parameters
        ----------
        dataset : str
            A dataset of the ledger.
        delta, epsilon, rho, slack
            As in `init`.

        Returns
        -------
        dict
            What `show` tells of the dataset.
        """
        Ledger(self._location).grant(dataset, _budget(epsilon, rho, delta, slack))
        return self.show(dataset)[0]

    def show(self, dataset: str | None = None) -> list[Fields]:
        """Return for each dataset its budget, what is spent, and the largest single release that is left.

        Parameters
        ----------
        dataset : str, optional
            Only this dataset.
        """
        return inspection.show(self._location, dataset)

    def history(self, dataset: str) -> list[Fields]:
        """Return the entries of a dataset, oldest first.

        Parameters
        ----------
        dataset : str
            A dataset of the ledger.
        """
        return inspection.history(self._location, dataset)

    @property
    def has_witness(self) -> bool:
        """Whether a witness is beside the file, without which nothing tells that it was rolled back."""
        return not is_server(self._location) and os.path.exists(witness_file(self._location))

    def verify(self, witness: PathLike | None = None) -> list[str]:
        """Return a sentence for everything that is wrong with the ledger; none if it is intact.

        Parameters
        ----------
        witness : path, optional
            An earlier export, of which the ledger must be a continuation. The witness beside a file is always
            asked.
        """
        files = [witness_file(self._location)] if self.has_witness else []
        if witness is not None:
            files.append(os.fspath(witness))
        return checks.verify(self._location, {file: read_witness(file) for file in files})

    def export(self, output: PathLike) -> None:
        """Write all entries to a JSON file, which may be published and is a witness for `verify`.

        Parameters
        ----------
        output : path
            The file.
        """
        refuse_same([output], [self._location, witness_file(self._location)])
        content = json.dumps(inspection.export(self._location), ensure_ascii=False, indent=1)
        with atomic_file(output) as stream:
            stream.write(content.encode() + b"\n")

    def schedule(
        self,
        dataset: str,
        name: str = "schedule",
        *,
        releases: int,
        delta: Number,
        total_delta: Number,
        epsilon: Number | None = None,
        rho: Number | None = None,
        mechanism: str | None = None,
        counts: int | None = None,
        window: str | None = None,
        time: str | None = None,
        time_zone: str | None = None,
        question: str | None = None,
        dry_run: bool = False,
    ) -> Cost:
        """Charge a number of equal releases up front, and return what they cost together.

        Parameters
        ----------
        dataset : str
            A dataset of the ledger.
        name : str
            Releases with the run_id NAME/... belong to the schedule and cost nothing more.
        releases : int
            How many there are at most.
        delta, epsilon, rho : str, int, float or Decimal
            What each of them may spend: epsilon, or rho for Gaussian noise, and delta.
        total_delta : str, int, float or Decimal
            The delta of all of them together.
        mechanism : str, optional
            "gaussian", "noisy-cells" or "hierarchy-streaming", if all releases have its noise.
        counts : int, optional
            For a mechanism: how many noisy counts one unit of privacy changes.
        window, time, time_zone : str, optional
            The time that the rows of all of them are from, and the column and zone that tell it.
        question : str, optional
            The question that all of them ask: `ledger.series` of a dry run, or "any". Without it the first
            release decides.
        dry_run : bool
            Return what would be charged and left, and change nothing.

        Returns
        -------
        Cost

        Raises
        ------
        BudgetExceeded
            If the budget does not allow all of them.
        """
        asked = Releases(
            *(releases, delta, total_delta, epsilon, rho, mechanism, counts),
            *(window, time, time_zone, question),
        )
        plan, ledger = asked.schedule(name), Ledger(self._location)
        if dry_run:
            return Cost(plan, ledger.preview_schedule(dataset, plan))
        ledger.schedule(dataset, plan)
        return Cost(plan)
