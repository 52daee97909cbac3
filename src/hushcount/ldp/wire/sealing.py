"""Reports sealed to the key of a collector, so that a relay cannot read them: HPKE, base mode (RFC 9180).

The suite is DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305. One message is sealed with each
encapsulated key, so its number is 0. The id of the campaign is bound as associated data, which the one-shot
functions of the library do not take. A sealed report is

    id of the key (8) | encapsulated key (32) | ciphertext (27 + 16)

and a batch of them `HCS1` | number (4, little-endian) | sealed reports | start of SHA-256 (8).
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from hushcount.errors import DataError, ReportError
from hushcount.ldp.wire.versions import DRAWN
from hushcount.secure import fresh_key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

SUITE = "X25519-HKDF-SHA256/HKDF-SHA256/ChaCha20-Poly1305"
KEY_ID_BYTES = 8
KEY_BYTES = 32
TAG_BYTES = 16
SEALED_BYTES = KEY_ID_BYTES + KEY_BYTES + DRAWN.report_bytes + TAG_BYTES
MAGIC = b"HCS1"
_FRONT = len(MAGIC) + 4
_CHECKSUM = 8
_KEM = b"KEM" + (0x20).to_bytes(2, "big")
_HPKE = b"HPKE" + b"".join(number.to_bytes(2, "big") for number in (0x20, 1, 3))
MISSING = "Sealed reports need the library cryptography: in a checkout, run pip install .[service]."


def new_pair() -> tuple[bytes, bytes]:
    """Return a fresh private key and its public key."""
    private = fresh_key(KEY_BYTES)
    return private, _private(private).public_key().public_bytes_raw()


def seal(message: bytes, public: bytes, bound: bytes, ephemeral: bytes | None = None) -> bytes:
    """Return the encapsulated key and the ciphertext of a message.

    Parameters
    ----------
    message:
        What is sealed.
    public:
        The public key of whoever may open it.
    bound:
        What must be given again to open it; it is not part of the result.
    ephemeral:
        The private key of this message; only tests give one.
    """
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    own = _private(fresh_key(KEY_BYTES) if ephemeral is None else ephemeral)
    enc = own.public_key().public_bytes_raw()
    shared = own.exchange(X25519PublicKey.from_public_bytes(public))
    return enc + _sealed(message, bound, *_schedule(shared, enc + public, b""))


def unseal(sealed: bytes, private: bytes, bound: bytes) -> bytes:
    """Return what was sealed, or raise ReportError."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    own, enc = _private(private), sealed[:KEY_BYTES]
    try:
        shared = own.exchange(X25519PublicKey.from_public_bytes(enc))
        key, nonce = _schedule(shared, enc + own.public_key().public_bytes_raw(), b"")
        return ChaCha20Poly1305(key).decrypt(nonce, sealed[KEY_BYTES:], bound)
    except (InvalidTag, ValueError):
        raise ReportError("a sealed report does not open.") from None


def seal_report(report: bytes, key_id: bytes, public: bytes, campaign: bytes) -> bytes:
    """Return a report of a campaign sealed to a key.

    >>> private, public = new_pair()
    >>> sealed = seal_report(bytes(27), bytes(8), public, bytes(32))
    >>> len(sealed), unseal(sealed[8:], private, bytes(32)) == bytes(27)
    (83, True)
    """
    return key_id + seal(report, public, campaign)


def pack_sealed(reports: Sequence[bytes]) -> bytes:
    """Return sealed reports as one batch, sorted by their bytes, which are as good as random."""
    body = MAGIC + len(reports).to_bytes(4, "little") + b"".join(sorted(reports))
    return body + sha256(body).digest()[:_CHECKSUM]


def unpack_sealed(batch: bytes) -> list[bytes]:
    """Return the sealed reports of a batch, or raise ReportError if it is torn or unsorted."""
    body, checksum = batch[:-_CHECKSUM], batch[-_CHECKSUM:]
    count = int.from_bytes(body[len(MAGIC) : _FRONT], "little")
    whole = len(body) == _FRONT + count * SEALED_BYTES and sha256(body).digest()[:_CHECKSUM] == checksum
    if not whole or body[: len(MAGIC)] != MAGIC:
        raise ReportError("the batch of sealed reports is damaged, so none of them is taken.")
    found = [body[start : start + SEALED_BYTES] for start in range(_FRONT, len(body), SEALED_BYTES)]
    if found != sorted(found):
        raise ReportError("the sealed reports of a batch must be sorted.")
    return found


def _private(octets: bytes) -> X25519PrivateKey:
    """Return a private key."""
    try:
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    except ImportError:
        raise DataError(MISSING) from None
    return X25519PrivateKey.from_private_bytes(octets)


def _sealed(message: bytes, bound: bytes, key: bytes, nonce: bytes) -> bytes:
    """Return the ciphertext of a message and its tag."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    return ChaCha20Poly1305(key).encrypt(nonce, message, bound)


def _schedule(exchanged: bytes, context: bytes, info: bytes) -> tuple[bytes, bytes]:
    """Return the key and the nonce of the first message."""  # RFC 9180, sections 4.1 and 5.1
    shared = _expand(_extract(b"", b"eae_prk", exchanged, _KEM), b"shared_secret", context, 32, _KEM)
    hashes = _extract(b"", b"psk_id_hash", b"", _HPKE) + _extract(b"", b"info_hash", info, _HPKE)
    secret = _extract(shared, b"secret", b"", _HPKE)
    mode = b"\0" + hashes
    return _expand(secret, b"key", mode, 32, _HPKE), _expand(secret, b"base_nonce", mode, 12, _HPKE)


def _extract(salt: bytes, label: bytes, material: bytes, suite: bytes) -> bytes:
    """Return LabeledExtract; an empty salt is as good as zeros."""
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + material, "sha256")


def _expand(secret: bytes, label: bytes, info: bytes, size: int, suite: bytes) -> bytes:
    """Return LabeledExpand of at most 32 bytes, which one block of HKDF gives."""
    labelled = size.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(secret, labelled + b"\x01", "sha256")[:size]
