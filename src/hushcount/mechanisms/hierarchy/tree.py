"""What the mechanisms of a hierarchy have in common: a public threshold, and a tree of what reaches it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from hushcount.errors import ParameterError
from hushcount.mechanisms.base import Mechanism, ShapeT, check_calibrated
from hushcount.mechanisms.groups import row_budget
from hushcount.mechanisms.users import user_guarantee
from hushcount.privacy import EVENT, LARGEST_COUNT, Budget, Guarantee, PrivacyUnit, check_count
from hushcount.releases.tree import TreeRelease
from hushcount.releases.trees.nodes import TreeError, TreeRows
from hushcount.shapes import Public

if TYPE_CHECKING:
    from hushcount.hierarchies.base import Hierarchy

ROWS_IN_RHO = (
    "rho is for one row of each user in a streaming tree; leave out method, and users are counted at every"
    " node."
)


class TreeMechanism(Mechanism[ShapeT, TreeRelease]):
    """A mechanism that publishes the nodes whose residual reaches a public threshold.

    Without a threshold it takes the smallest possible one, which `calibrate` finds. If the unit is a user of
    several rows, the noise is that of `row`, by group privacy (docs/proofs/hierarchy/users.md, section 1).
    """

    needs: ClassVar[tuple[str, ...]] = ("height",)
    threshold: int

    def __init__(self, budget: Budget, public: Public, threshold: int | None = None) -> None:
        self.asked = None if threshold is None else check_count("threshold", threshold, most=LARGEST_COUNT)
        super().__init__(budget, public)

    @property
    def height(self) -> int:
        """The number of levels below the root."""
        return self.needed("height")

    @property
    def row(self) -> Budget:
        """The budget of one row, at which all rows of a unit together cost `budget`."""
        if self.budget.rho is not None:
            if self.public.unit.rows > 1:
                raise ParameterError(ROWS_IN_RHO)
            return self.budget
        return row_budget(self.budget, self.public.unit.rows)

    def check_sizes(self, shape: ShapeT) -> None:
        """Raise unless the summary has the public numbers, and units as large, as was calibrated for."""
        super().check_sizes(shape)
        check_calibrated("rows of one unit", shape.public().unit.rows, self.public.unit.rows)

    def guarantee(self, unit: PrivacyUnit, **parameters: int | float | str | None) -> Guarantee:
        """Return the guarantee of a release, for all rows of a unit together."""
        own, row = super().guarantee(unit, **parameters), self.row
        if row == self.budget:
            return own
        one = replace(own, epsilon=row.epsilon, delta=row.delta)
        return user_guarantee(one, self.budget, self.public.unit.rows)

    @abstractmethod
    def parameters(self) -> dict[str, int | float | str]:
        """Return the public numbers of the noise."""

    def calibration(self) -> dict[str, int | float | str | None]:
        """Return the height, the threshold and the noise."""
        return {"height": self.height, "threshold": self.threshold, **self.parameters()}

    def promise(self, hierarchy: Hierarchy, unit: PrivacyUnit = EVENT) -> Guarantee:
        """Return the guarantee of a release of this hierarchy."""
        sizes = {"height": self.height, "threshold": self.threshold}
        return self.guarantee(unit, hierarchy=hierarchy.name, **sizes, **self.parameters())

    def tree(self, rows: TreeRows, hierarchy: Hierarchy, unit: PrivacyUnit, error: TreeError) -> TreeRelease:
        """Return the release of these rows."""
        promise = self.promise(hierarchy, unit)
        return TreeRelease(rows, promise, error, self.threshold, hierarchy.name, self.height)
