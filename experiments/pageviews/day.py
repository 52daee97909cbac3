"""A day of page views that nobody made: devices in countries read pages of projects."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import parquet

Integers = npt.NDArray[np.int64]
CHUNK = 200_000  # devices written at once


@dataclass(frozen=True)
class Day:
    """How much happens on the day.

    A device belongs to one country, reads mostly the first project of that country, and different pages of
    it by Zipf's law. How many pages it reads is lognormal.
    """

    devices: int = 2_000_000
    countries: int = 200
    projects: int = 250
    pages: int = 625_000
    exponent: float = 1.05
    seed: int = 28

    @property
    def possible(self) -> int:
        """Return how many pairs of a country and a page there are; a page belongs to one project."""
        return self.countries * self.pages

    def write(self, path: Path) -> int:
        """Write one row for each view, and return how many there are."""
        generator = np.random.default_rng(self.seed)
        schema = pa.schema({name: pa.string() for name in ("device", "country", "project", "page")})
        rows = 0
        with parquet.ParquetWriter(path, schema) as writer:
            for start in range(0, self.devices, CHUNK):
                table = self._views(generator, start, min(CHUNK, self.devices - start))
                writer.write_table(table.cast(schema))
                rows += len(table)
        return rows

    def _views(self, generator: np.random.Generator, start: int, devices: int) -> pa.Table:
        """Return the views of some devices, in a random order."""
        countries = self._drawn(generator, devices, self.countries, 1.2)
        views = np.clip(np.ceil(generator.lognormal(1.2, 1.1, devices)), 1, 2000).astype(np.int64)
        of = generator.permutation(np.repeat(np.arange(devices), views))
        at_home = generator.random(len(of)) < 0.8
        projects = self._drawn(generator, len(of), self.projects, 1.3)
        projects = np.where(at_home, countries[of] % self.projects, projects)
        share = self.pages // self.projects
        pages = projects * share + self._drawn(generator, len(of), share, self.exponent)
        columns = {"device": of + start, "country": countries[of], "project": projects, "page": pages}
        return pa.table({name: pa.array(values.astype(str)) for name, values in columns.items()})

    def _drawn(self, generator: np.random.Generator, many: int, places: int, exponent: float) -> Integers:
        """Draw places by Zipf's law."""
        steps = np.cumsum(np.arange(1, places + 1, dtype=np.float64) ** -exponent)
        drawn: Integers = np.searchsorted(steps, generator.random(many) * steps[-1])
        return np.minimum(drawn, places - 1)
