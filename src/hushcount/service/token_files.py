"""Tokens in files, so that no command line and no environment shows them."""

from __future__ import annotations

from hushcount.errors import DataError, cannot_read

SHORTEST_TOKEN = 16


def token_in(path: str) -> str:
    """Return the token in a file, or raise."""
    try:
        with open(path, encoding="ascii") as file:
            token = file.read().strip()
    except OSError as error:
        raise DataError(cannot_read(path, error)) from None
    except UnicodeDecodeError:
        raise DataError(f"{path} holds no token: it is not plain text.") from None
    if len(token) < SHORTEST_TOKEN or not token.isprintable() or " " in token:
        raise DataError(
            f"The token in {path} must have at least {SHORTEST_TOKEN} characters and no space;"
            " `openssl rand -hex 24` makes one."
        )
    return token


def tokens_in(path: str) -> tuple[str, ...]:
    """Return the tokens in a file, one per line, or raise."""
    try:
        with open(path, encoding="ascii") as file:
            found = tuple(line.strip() for line in file if line.strip())
    except OSError as error:
        raise DataError(cannot_read(path, error)) from None
    except UnicodeDecodeError:
        raise DataError(f"{path} holds no tokens: it is not plain text.") from None
    if any(len(token) < SHORTEST_TOKEN for token in found):
        raise DataError(f"Every token in {path} must have at least {SHORTEST_TOKEN} characters.")
    return found
