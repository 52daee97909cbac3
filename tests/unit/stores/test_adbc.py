"""Codes of databases become sentences, and connections that cannot be used are refused."""

import pytest

from hushcount.errors import DataError, ParameterError
from hushcount.stores.adbc import ADBCRows, _patient, of_connection


class FailedError(Exception):
    def __init__(self, code, words="secret"):
        super().__init__(words)
        self.sqlstate = code


class Connection:
    """What an ADBC driver might open."""

    __module__ = "adbc_driver_manager.dbapi"

    def __init__(self, vendor):
        self.vendor = vendor

    def adbc_get_info(self):
        if self.vendor is None:
            raise RuntimeError("secret")
        return {"vendor_name": self.vendor}


@pytest.mark.parametrize(
    ("error", "kind", "sentence"),
    [
        (FailedError("42601"), ParameterError, "The SQL query does not parse, or is not a single SELECT."),
        (FailedError("42P01"), DataError, "The table does not exist in p."),
        (FailedError("42501"), DataError, "p cannot be read: the user of the database lacks the permission."),
        (FailedError("57014"), DataError, "p ended the query before its end, so nothing was released."),
        (FailedError("53200"), DataError, "p has too little memory or disk space for the query."),
        (FailedError("57P01"), DataError, "The connection to p was lost, so nothing was released."),
        (
            FailedError(None, "server closed the connection"),
            DataError,
            "The connection to p was lost, so nothing was released.",
        ),
        (FailedError("22012"), DataError, "The SQL query failed on the data."),
        (OSError("secret"), DataError, "The SQL query failed on the data."),
    ],
)
def test_codes(error, kind, sentence):
    found = ADBCRows(None, "p").failure(error)
    assert (type(found), str(found)) == (kind, sentence)


def test_connections(monkeypatch):
    assert type(of_connection(Connection("PostgreSQL"))).__name__ == "PostgreSQLRows"
    assert type(of_connection(Connection("DuckDB"))).__name__ == "ADBCRows"
    with pytest.raises(ParameterError, match=r"^data must not be an ADBC connection to SQLite"):
        of_connection(Connection("SQLite"))
    with pytest.raises(DataError, match=r"^The ADBC connection is closed, or does not answer\.$") as caught:
        of_connection(Connection(None))
    assert caught.value.__context__ is None


def test_servers_that_do_not_answer_are_given_up(monkeypatch):
    monkeypatch.delenv("PGCONNECT_TIMEOUT", raising=False)
    assert _patient("postgresql://h/d") == "postgresql://h/d?connect_timeout=10"
    assert _patient("postgresql://h/d?a=b") == "postgresql://h/d?a=b&connect_timeout=10"
    assert _patient("postgresql://h/d?connect_timeout=3") == "postgresql://h/d?connect_timeout=3"
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "4")
    assert _patient("postgresql://h/d") == "postgresql://h/d"
