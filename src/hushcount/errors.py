"""The errors that hushcount raises on purpose.

A message is a whole sentence: which parameter, what rule it breaks, what was given. No message contains a key
or a count of the data. `exit_code` is what the command line returns: 1 if the data could not be used or the
budget does not allow it, 2 for wrong usage.
"""

from __future__ import annotations

import os


class HushcountError(Exception):
    """Everything hushcount raises on purpose."""

    exit_code = 1


class ParameterError(HushcountError, ValueError):
    """A parameter breaks its rule."""

    exit_code = 2


class KeyTypeError(HushcountError, TypeError):
    """Keys of a type that a sketch cannot hold, or of another type than before."""


class DataError(HushcountError):
    """The data cannot be read, or not as asked."""


class SketchFileError(DataError):
    """A sketch file is damaged, foreign, or of a newer version."""


class ReleaseFileError(DataError):
    """A file of a release is damaged, foreign, or of a newer version."""


class ManifestError(DataError):
    """A manifest of the local model is damaged, edited, expired, or of an unknown kind."""


class ReportError(DataError):
    """A report of the local model is damaged, foreign, or of an unknown version."""


class LedgerError(DataError):
    """A ledger is missing, damaged, rolled back or of a newer version, or a run does not belong to it."""


class BudgetExceeded(HushcountError):  # noqa: N818
    """The budget of a dataset does not allow a release; trying again would not change that."""


class NotProvedError(ParameterError):
    """A mechanism is not proved for this kind of sketch; the message names one that is, or what to change."""


class PrivacyWarning(UserWarning):
    """A budget under which little is protected: a large epsilon or delta."""


class LedgerWarning(PrivacyWarning):
    """Something about a ledger that its owner should look at, such as a clock that went back."""


def system_reason(error: OSError) -> str:
    """Return why the operating system refused, in its own words and lower case."""
    return (error.strerror or "input/output error").lower()


def cannot_read(path: str | os.PathLike[str], error: OSError) -> str:
    """Return the sentence for a file that the operating system does not let us read."""
    return f"Cannot read {os.fspath(path)}: {system_reason(error)}."
