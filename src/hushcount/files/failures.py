"""Reader exceptions are replaced, never shown: they quote the data."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TypeVar

from hushcount.errors import DataError, HushcountError

Result = TypeVar("Result")
# How pyarrow and DuckDB speak of bytes they cannot decompress.
COMPRESSION_WORDS = ("compressed stream", "zlib", "gzip", "zstd", "frame descriptor", "inflate", "decode")
Sentence = Callable[[Exception], HushcountError]


def attempt(sentence: Sentence, call: Callable[..., Result], *arguments: object) -> Result:
    """Call, and raise `sentence(error)` in place of whatever fails; nothing of it is chained."""
    try:
        return call(*arguments)
    except HushcountError:
        raise
    except Exception as error:
        failure = sentence(error)
    raise failure


def guarded(items: Iterator[Result], sentence: Sentence) -> Iterator[Result]:
    """Yield the same items, with the failures of their iterator replaced."""
    end = object()
    try:
        while (item := attempt(sentence, next, items, end)) is not end:
            yield item
    finally:
        if isinstance(items, Generator):
            items.close()


def file_failure(name: str, defect: str) -> Sentence:
    """Say in one sentence why a file cannot be read; `defect` stands for whatever its reader found."""

    def sentence(error: Exception) -> HushcountError:
        return DataError(f"{name} {_reason(error) or defect}.")

    return sentence


def _reason(error: Exception) -> str | None:
    """Classify by type and words of the library; the text itself goes no further."""
    for kind, reason in _BY_TYPE.items():
        if isinstance(error, kind):
            return reason
    words = str(error).lower()
    if "utf8" in words or "utf-8" in words:
        return _BY_TYPE[UnicodeError]
    return "is not a whole compressed file" if any(word in words for word in COMPRESSION_WORDS) else None


_BY_TYPE: dict[type[Exception], str] = {
    PermissionError: "cannot be read: permission denied",
    FileNotFoundError: "does not exist",
    UnicodeError: "has text that is not valid UTF-8",
    MemoryError: "needs more memory than there is",
}
