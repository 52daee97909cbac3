"""Errors: name, rule, value, full stop; never a key or a count of the data.

The exit code of the command line stands with the error: 1 refused by data or budget, 2 bad usage.
"""


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


class ManifestError(DataError):
    """A manifest of the local model is damaged, edited, expired, or of an unknown kind."""


class ReportError(DataError):
    """A report of the local model is damaged, foreign, or of an unknown version."""


class NotProvedError(ParameterError):
    """A mechanism was asked for a shape it is not proved for; the message says the way out."""


class PrivacyWarning(UserWarning):
    """A budget under which little is protected: a large epsilon or delta."""
