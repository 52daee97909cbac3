"""Objects of a store (s3://, gs://) and of the web (http://, https://) as inputs.

Credentials come from where the libraries of a store look for them: the environment, files in the home folder,
the machine. An address with a password is refused, and no message shows more of an address than its scheme,
host and path.
"""

from __future__ import annotations

import fnmatch
import glob
import io
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

import pyarrow as pa

from hushcount.errors import DataError, ParameterError
from hushcount.files.failures import attempt
from hushcount.files.fingerprint import digest
from hushcount.sources.formats.inputs import Pipe, RegularFile, Stamp, spooled
from hushcount.sources.formats.registry import COMPRESSIONS

if TYPE_CHECKING:
    from http.client import HTTPResponse

    from pyarrow import fs

ADDRESS = re.compile(r"(s3|gs|https?)://", re.IGNORECASE)
SECONDS = 60.0
RIGHTS = (
    "ACCESS_DENIED",
    "HTTP status 403",
    "HTTP status 401",
    "PermissionDenied",
    "Forbidden",
    "INVALID_ACCESS",
    "OAuth2 access token",  # Google Cloud, if there are no credentials
)
CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
}
UNTRUSTED = (
    "{} is not trusted: its certificate must be for this host and signed by a known authority, which"
    " SSL_CERT_FILE may name."
)
SECRETS = (
    "An address must not have a user or password in it, because other users of the machine can see it;"
    " give them by the environment."
)


@dataclass(frozen=True, slots=True)
class ObjectStamp(Stamp):
    """What a store knows of an object: its size, time and tag, which changes with its content."""

    @property
    def mark(self) -> tuple[str, int]:
        """Tag and size, and the time, for a fingerprint."""
        return digest([self.content, self.size]), self.modified


@dataclass(frozen=True, slots=True)
class ObjectFile(RegularFile):
    """An object of a store; it is read in place, a part at a time."""

    system: fs.FileSystem | None = None

    @property
    def is_local(self) -> bool:
        """No: it is in a store."""
        return False

    def change(self) -> DataError | None:
        """Return what to say if the object is no longer what it was when it was opened, else None."""
        try:
            if _stamp(self._store, self.location) == self.stamp:
                return None
        except OSError:
            pass
        return DataError(f"{self.name} changed while it was read, so nothing was released; run it again.")

    def raw(self) -> pa.NativeFile:
        """Open for reading anywhere."""
        return self._store.open_input_file(self.location)

    @property
    def _store(self) -> fs.FileSystem:
        return cast("fs.FileSystem", self.system)


def is_address(path: str) -> bool:
    """Return whether a path is the address of an object."""
    return ADDRESS.match(path) is not None


def find_objects(path: str) -> tuple[bool, list[str], str]:
    """Return whether an address may stand for several objects, their addresses, and how all begin."""
    address = urlsplit(path)
    if "@" in address.netloc:
        raise ParameterError(SECRETS)
    if address.scheme.lower() in ("http", "https"):
        return False, [path], path
    if not address.netloc:
        raise ParameterError(f"{address.scheme}:// must be followed by a bucket and a path in it.")
    return attempt(failure(path), _listed, path)


def open_object(name: str) -> RegularFile | Pipe:
    """Open an object whose address is known."""
    if name.lower().startswith("http"):
        return attempt(failure(name), _of_the_web, name)
    return attempt(failure(name), _in_store, name)


def failure(path: str) -> Callable[[Exception], DataError]:
    """Return what to say if an address cannot be read, without its secrets."""
    scheme = path.partition(":")[0].lower()
    name = shown_address(path)

    def said(error: Exception) -> DataError:
        text = str(error)
        if isinstance(error, FileNotFoundError) or "404" in text or "NO_SUCH" in text:
            return DataError(f"{name} does not exist.")
        if "CERTIFICATE_VERIFY_FAILED" in text:
            return DataError(UNTRUSTED.format(name))
        if any(word in text for word in RIGHTS):
            ways = f"; give others by {CREDENTIALS[scheme]}" if scheme in CREDENTIALS else ""
            return DataError(f"{name} may not be read with the credentials that were found{ways}.")
        return DataError(f"{name} cannot be read, because its server does not answer as it should.")

    return said


def shown_address(path: str) -> str:
    """Return an address without what may be secret of it."""
    address = urlsplit(path)
    if address.scheme.lower() in ("http", "https"):
        return f"{address.scheme}://{address.netloc}{address.path}"
    return path


def _system(path: str) -> tuple[fs.FileSystem, str]:
    """Return the store of an address, and the place in it: bucket and key."""
    try:
        return _connected(path)
    except ImportError:
        scheme = path.partition(":")[0]
    raise ParameterError(
        f"This build of pyarrow cannot read {scheme}://; install one that can: pip install --upgrade pyarrow."
    )


def _connected(path: str) -> tuple[fs.FileSystem, str]:
    from pyarrow import fs

    scheme, _, place = path.partition("://")
    if scheme.lower() == "gs":
        return _google(), place
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    options: dict[str, object] = {"connect_timeout": SECONDS, "request_timeout": SECONDS}
    if endpoint:
        found = urlsplit(endpoint)
        options |= {"scheme": found.scheme, "endpoint_override": found.netloc}
    elif region is None:
        region = fs.resolve_s3_region(place.partition("/")[0])
    return fs.S3FileSystem(region=region, **options), place


def _google() -> fs.FileSystem:
    """Return Google Cloud Storage, or the server of its protocol that STORAGE_EMULATOR_HOST names."""
    from pyarrow import fs

    patience = timedelta(seconds=SECONDS)
    host = os.environ.get("STORAGE_EMULATOR_HOST")
    if not host:
        return fs.GcsFileSystem(retry_time_limit=patience)
    found = urlsplit(host if "://" in host else f"http://{host}")
    known = {"scheme": found.scheme, "endpoint_override": found.netloc, "retry_time_limit": patience}
    return fs.GcsFileSystem(anonymous=True, **known)


def _listed(path: str) -> tuple[bool, list[str], str]:
    """Return what is behind an address of a store: an object, a folder of objects, or what a glob matches."""
    from pyarrow import fs

    system, place = _system(path)
    scheme = path[: path.index("://") + 3]
    place = place.rstrip("/")
    kind = system.get_file_info(place).type
    if kind == fs.FileType.File:
        return False, [scheme + place], scheme + place
    start = place
    if kind != fs.FileType.Directory and glob.has_magic(place):
        parts = place.split("/")
        start = "/".join(parts[: next(at for at, part in enumerate(parts) if glob.has_magic(part))])
    elif kind != fs.FileType.Directory:
        raise FileNotFoundError(path)
    below = system.get_file_info(fs.FileSelector(start, recursive=True))
    names = [one.path for one in below if one.type == fs.FileType.File and _is_data(one.path[len(start) :])]
    if start != place:
        names = _matching(names, place.split("/"))
    if not names:
        raise DataError(f"Folder {path} has no data files.")
    return True, sorted(scheme + name for name in names), scheme + start


def _is_data(place: str) -> bool:
    """Return whether no folder or file of a relative path is hidden."""
    return not any(part[:1] in (".", "_") for part in place.split("/") if part)


def _matching(names: list[str], parts: list[str]) -> list[str]:
    """Return the names that a glob matches, or all below the folders that it matches."""

    def matches(name: str) -> bool:
        found = name.split("/")
        pairs = zip(found, parts, strict=False)
        return len(found) >= len(parts) and all(fnmatch.fnmatchcase(one, part) for one, part in pairs)

    found = [name for name in names if matches(name)]
    exact = [name for name in found if name.count("/") == len(parts) - 1]
    return exact or found


def _in_store(name: str) -> ObjectFile:
    """Open an object of a store."""
    system, place = _system(name)
    compression = COMPRESSIONS.get(os.path.splitext(name)[1].lower())
    return ObjectFile(name, place, _stamp(system, place), compression, system=system)


def _stamp(system: fs.FileSystem, place: str) -> ObjectStamp:
    """Return what a store knows of an object."""
    found = system.get_file_info(place)
    if found.size is None:
        raise FileNotFoundError(place)
    with system.open_input_stream(place, compression=None) as stream:
        told = stream.metadata() or {}
    tag = next((value for key, value in told.items() if key.lower() in (b"etag", "etag")), b"")
    text = tag.decode() if isinstance(tag, bytes) else str(tag)
    return ObjectStamp((0, 0), int(found.size), int(found.mtime_ns or 0), 0, text, ())


def _of_the_web(name: str) -> RegularFile | Pipe:
    """Open an address of the web: read once, from the front, or copied if it is compressed."""
    from urllib.request import Request, urlopen

    request = Request(name, headers={"User-Agent": "hushcount", "Accept-Encoding": "identity"})
    answer = urlopen(request, timeout=SECONDS)
    pipe = Pipe(shown_address(name), io.BufferedReader(_Body(answer, shown_address(name))))
    compression = COMPRESSIONS.get(os.path.splitext(urlsplit(name).path)[1].lower())
    return pipe if compression is None else replace(spooled(pipe), compression=compression)


class _Body(io.RawIOBase):
    """The body of an answer, which must be as long as it says."""

    def __init__(self, answer: HTTPResponse, name: str) -> None:
        self._answer, self._name = answer, name
        self._left = None if answer.length is None else int(answer.length)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        view = memoryview(cast("bytearray", buffer))
        block = self._answer.read(len(view))
        if self._left is not None:
            self._left -= len(block)
            if not block and self._left:
                raise DataError(
                    f"{self._name} was cut off while it was read, so nothing was released; run it again."
                )
        view[: len(block)] = block
        return len(block)
