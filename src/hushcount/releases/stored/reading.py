"""Files of releases: read back, with whatever is wrong said in one sentence."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hushcount.errors import DataError, HushcountError, ReleaseFileError, SketchFileError, cannot_read
from hushcount.files import container

if TYPE_CHECKING:
    from hushcount.releases.stored.documents import Stored
    from hushcount.releases.stored.exact import Plain

LARGEST_FILE = 1 << 30
VERSIONS = (1, 2)
FIRST = (b"{", container.MAGIC[:1])  # bytes with which a release can begin: as JSON, or an oracle as a file
# What may be raised when JSON describes no release.
_CONTRADICTIONS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RuntimeError,  # too deeply nested JSON; types that Arrow has not implemented
    TypeError,
    ValueError,
    HushcountError,  # a parameter that breaks its rule
    MemoryError,
)


def read_release(source: str | os.PathLike[str] | bytes) -> Stored:
    """Read a release, a tree, a sample or an oracle from its JSON, with all its methods.

    Parameters
    ----------
    source : path or bytes
        A .json file that `write`, `--output` or `--json` wrote, an oracle file, or what it holds. Files of
        version 1 are read too; the notes of the release say what they lack.

    Returns
    -------
    Release, TreeRelease, KeyList or Oracle
        The same as was written.

    Raises
    ------
    ReleaseFileError
        If it is no release of hushcount, of a newer version, or damaged.
    DataError
        If the file cannot be read.

    Examples
    --------
    >>> import hushcount as hc
    >>> release = hc.top(["tea"] * 500 + ["milk"] * 300, epsilon=1.0, delta=1e-6)
    >>> hc.read_release(release.to_json().encode()).table == release.table
    True
    """
    name = "The release" if isinstance(source, bytes) else os.fspath(source)
    return release_of(name, read_document(name, source))


def read_document(name: str, source: str | os.PathLike[str] | bytes) -> dict[str, Plain]:
    """Return the document in a file, of a version that can be read and with the digest that it states."""
    from hushcount.releases.stored.exact import digest, parsed

    data = source if isinstance(source, bytes) else _file(name, source)
    if data.startswith(container.MAGIC):
        data = _oracle(name, data)

    values: dict[str, Plain] = {}
    found = None
    try:
        values = parsed(data)
        found = digest(values)
    except (ValueError, RecursionError):
        pass
    version = values.get("hushcount")
    if found is None or type(version) is not int or version < 1:
        raise ReleaseFileError(f"{name} is not a release of hushcount in JSON.")
    if version not in VERSIONS:
        raise ReleaseFileError(
            f"{name} was written by a newer hushcount (version {version}, this one reads up to 2)."
        )
    if version > 1 and values.get("digest") != found:
        raise ReleaseFileError(f"{name} is damaged: its contents do not match its digest.")
    return values


def release_of(name: str, values: dict[str, Plain]) -> Stored:
    """Return the release of a document; raise if the document contradicts itself."""
    import pyarrow as pa

    from hushcount.releases.stored.documents import release_from
    from hushcount.releases.stored.earlier import first_version

    try:
        release = first_version(values) if values["hushcount"] == 1 else release_from(values)
        _try(release)
    except (*_CONTRADICTIONS, pa.ArrowException):
        pass
    else:
        return release
    raise ReleaseFileError(f"{name} is damaged: its contents contradict each other.")


def _try(release: Stored) -> None:
    """Raise if a release cannot be shown, or only with numbers that are none."""
    import numpy as np

    from hushcount.releases.stored.documents import document

    with np.errstate(invalid="raise"):
        document(release)


def _oracle(name: str, data: bytes) -> bytes:
    """Return the JSON of an oracle in the form that `save` writes, or raise."""
    from hushcount.releases.oracle import Oracle

    try:
        return Oracle.load(data).to_json().encode("utf-8", "surrogatepass")
    except SketchFileError:
        pass
    raise ReleaseFileError(f"{name} is a sketch, which is raw data, or a damaged oracle: no release.")


def _file(name: str, path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file that may be JSON, at most so many."""
    try:
        with Path(path).open("rb") as file:
            first = file.read(1)
            data = first + file.read(LARGEST_FILE) if first in FIRST else first
    except FileNotFoundError:
        failure = DataError(f"{name} does not exist.")
    except OSError as error:
        failure = DataError(cannot_read(name, error))
    else:
        if len(data) > LARGEST_FILE:
            raise ReleaseFileError(f"{name} is too long: releases are read up to {LARGEST_FILE >> 30} GiB.")
        return data
    raise failure
