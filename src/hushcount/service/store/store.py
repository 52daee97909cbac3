"""A store in a thread of its own, where its one connection lives."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, ParamSpec, TypeVar

from hushcount.errors import DataError
from hushcount.service.store.campaigns import Campaigns
from hushcount.service.store.reports import ReportStore
from hushcount.service.store.residue import wipe
from hushcount.service.store.schema import open_store
from hushcount.service.store.seals import Seals
from hushcount.service.store.tables import KeptTables
from hushcount.stores.database import is_server

Asked = ParamSpec("Asked")
Answered = TypeVar("Answered")


class CollectorStore:
    """An open store: campaigns, reports, and the keys to which reports are sealed.

    Parameters
    ----------
    location:
        The path of an SQLite file, or the address of a PostgreSQL server.
    """

    def __init__(self, location: str) -> None:
        self._database = open_store(location)
        folder = None if is_server(location) else os.path.dirname(os.path.abspath(location))
        self.campaigns = Campaigns(self._database)
        self.reports = ReportStore(self._database, folder)
        self.seals = Seals(self._database)
        self.tables = KeptTables(self.reports)

    def wipe(self) -> bool:
        """Remove from the files what was deleted; return whether that was possible."""
        return wipe(self._database)

    def close(self) -> None:
        """Close the connection."""
        self._database.__exit__()


class Desk:
    """A thread that does one thing with a store after the other.

    Parameters
    ----------
    location:
        Where the store is.
    """

    def __init__(self, location: str) -> None:
        self._location = location
        self._thread = ThreadPoolExecutor(1)
        self._store: CollectorStore | None = None

    async def do(
        self,
        call: Callable[Concatenate[CollectorStore, Asked], Answered],
        *given: Asked.args,
        **named: Asked.kwargs,
    ) -> Answered:
        """Call a function with the store, and with what else is given, in the thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: self._call(call, *given, **named))

    def _call(
        self,
        call: Callable[Concatenate[CollectorStore, Asked], Answered],
        *given: Asked.args,
        **named: Asked.kwargs,
    ) -> Answered:
        if self._store is None:
            self._store = CollectorStore(self._location)
        try:
            return call(self._store, *given, **named)
        except DataError:
            if is_server(self._location):  # the connection may be lost, so the next call makes a new one
                self._leave()
            raise

    def _leave(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()

    async def close(self) -> None:
        """Finish what was asked, and close the store."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._leave)
        self._thread.shutdown()
