"""HPKE against the vectors of RFC 9180 and against the library's own one-shot functions."""

import pytest

from hushcount.errors import ReportError
from hushcount.ldp.wire import sealing
from hushcount.ldp.wire.sealing import new_pair, pack_sealed, seal, seal_report, unpack_sealed, unseal

# RFC 9180, A.2.1: base mode, DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305; message 0.
INFO = "4f6465206f6e2061204772656369616e2055726e"
EPHEMERAL = "f4ec9b33b792c372c1d2c2063507b684ef925b8c75a42dbcbf57d63ccd381600"
ENC = "1afa08d3dec047a643885163f1180476fa7ddb54c6a8029ea33f95796bf2ac4a"
RECIPIENT = "8057991eef8f1f1af18f4a9491d16a1ce333f695d4db8e38da75975c4478e0fb"
PUBLIC = "4310ee97d88cc1f088a5576c77ab0cf5c3ac797f3d95139c6c84b5429c59662a"
PLAIN = "4265617574792069732074727574682c20747275746820626561757479"
BOUND = "436f756e742d30"
CIPHER = "1c5250d8034ec2b784ba2cfd69dbdb8af406cfe3ff938e131f0def8c8b60b4db21993c62ce81883d2dd1b51a28"
h = bytes.fromhex


def test_the_vectors_of_the_standard(monkeypatch):
    schedule = sealing._schedule
    monkeypatch.setattr(sealing, "_schedule", lambda shared, context, _: schedule(shared, context, h(INFO)))
    assert seal(h(PLAIN), h(PUBLIC), h(BOUND), h(EPHEMERAL)).hex() == ENC + CIPHER
    assert unseal(h(ENC + CIPHER), h(RECIPIENT), h(BOUND)) == h(PLAIN)


def test_the_same_as_the_library():
    hpke = pytest.importorskip("cryptography.hazmat.primitives.hpke")
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    suite = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)
    private, public = new_pair()
    key = X25519PrivateKey.from_private_bytes(private)
    assert suite.decrypt(seal(b"a report", public, b""), key) == b"a report"
    assert unseal(suite.encrypt(b"a report", key.public_key()), private, b"") == b"a report"


def test_what_was_changed_does_not_open():
    private, public = new_pair()
    sealed = seal(bytes(27), public, b"campaign")
    assert len({seal(bytes(27), public, b"campaign") for _ in range(9)}) == 9
    for at in range(0, len(sealed), 5):
        changed = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
        with pytest.raises(ReportError):
            unseal(changed, private, b"campaign")
    for bad in (sealed[:-1], sealed[:20], bytes(75), b""):
        with pytest.raises(ReportError):
            unseal(bad, private, b"campaign")
    with pytest.raises(ReportError):
        unseal(sealed, private, b"another")
    with pytest.raises(ReportError):
        unseal(sealed, new_pair()[0], b"campaign")


def test_batches():
    _, public = new_pair()
    sealed = [seal_report(bytes(27), bytes(8), public, bytes(32)) for _ in range(5)]
    whole = pack_sealed(sealed)
    assert unpack_sealed(whole) == sorted(sealed)
    assert unpack_sealed(pack_sealed([])) == []
    for bad in (whole[:-1], whole + b"x", b"HCB2" + whole[4:], b""):
        with pytest.raises(ReportError):
            unpack_sealed(bad)
