"""Ed25519 signatures of releases: who holds the key says that the digest is of their release.

What is signed is the text `hushcount-release-2`, a line end, and the digest of the document.
"""

from __future__ import annotations

import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hushcount.errors import DataError, ParameterError, system_reason
from hushcount.releases.stored.exact import Plain, fields_from, text_from

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

ALGORITHM = "ed25519"
SIGNED = b"hushcount-release-2\n"
LARGEST_KEY = 1 << 16  # bytes of a key file


def signed(values: dict[str, Plain], key: str | os.PathLike[str]) -> dict[str, Plain]:
    """Return a document with its signature.

    Parameters
    ----------
    values : dict
        The document, with its digest.
    key : path
        A file with an Ed25519 private key in PEM without a password, as `openssl genpkey -algorithm ed25519`
        writes it.

    Raises
    ------
    DataError
        If the file cannot be read or holds no such key.
    """
    private = private_key(key)
    value = private.sign(_message(values))
    public = private.public_key().public_bytes_raw()
    return {
        **values,
        "signature": {"algorithm": ALGORITHM, "public_key": public.hex(), "value": value.hex()},
    }


def signature_fits(values: dict[str, Plain], public: Ed25519PublicKey | None = None) -> bool:
    """Return whether the signature of a document is by this key, by default the key that it names."""
    _check_installed()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        fields = fields_from(values["signature"], ("algorithm", "public_key", "value"))
        named, value = (bytes.fromhex(text_from(fields[name])) for name in ("public_key", "value"))
        chosen = Ed25519PublicKey.from_public_bytes(named) if public is None else public
        chosen.verify(value, _message(values))
    except (ValueError, InvalidSignature):
        return False
    return fields["algorithm"] == ALGORITHM and chosen.public_bytes_raw() == named


def private_key(path: str | os.PathLike[str]) -> Ed25519PrivateKey:
    """Return the private key in a file, or raise."""
    _check_installed()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    data, key = _key_file(path), None
    with suppress(ValueError, TypeError):
        key = load_pem_private_key(data, None)
    if not isinstance(key, Ed25519PrivateKey):
        raise DataError(f"{os.fspath(path)} holds no Ed25519 private key in PEM without a password.")
    return key


def public_key(path: str | os.PathLike[str]) -> Ed25519PublicKey:
    """Return the public key in a file, or raise."""
    _check_installed()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    data, key = _key_file(path), None
    with suppress(ValueError, TypeError):
        key = load_pem_public_key(data)
    if not isinstance(key, Ed25519PublicKey):
        raise DataError(f"{os.fspath(path)} holds no Ed25519 public key in PEM.")
    return key


def _check_installed() -> None:
    """Raise if there is no library for signatures."""
    if find_spec("cryptography") is None:
        raise ParameterError("Signatures need cryptography: in a checkout, run pip install .[sign].")


def _key_file(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a key file, or raise; its contents are never in a message."""
    try:
        with Path(path).open("rb") as file:
            return file.read(LARGEST_KEY)
    except OSError as error:
        reason = system_reason(error)
    raise DataError(f"Cannot read the key {os.fspath(path)}: {reason}.")


def _message(values: dict[str, Plain]) -> bytes:
    """Return what is signed of a document."""
    return SIGNED + text_from(values["digest"]).encode()
