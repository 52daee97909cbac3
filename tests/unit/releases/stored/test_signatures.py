import json

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from tests.made import made

import hushcount as hc
from hushcount.errors import DataError, ParameterError
from hushcount.releases.stored.signatures import public_key, signature_fits

PEM = serialization.Encoding.PEM
PKCS8, PUBLIC = serialization.PrivateFormat.PKCS8, serialization.PublicFormat.SubjectPublicKeyInfo


def write_key(folder, name="key", key=None):
    private = key or ed25519.Ed25519PrivateKey.generate()
    (folder / f"{name}.pem").write_bytes(private.private_bytes(PEM, PKCS8, serialization.NoEncryption()))
    (folder / f"{name}.pub").write_bytes(private.public_key().public_bytes(PEM, PUBLIC))
    return folder / f"{name}.pem"


@pytest.fixture
def signed(tmp_path):
    made("floor").write(tmp_path / "t.json", sign=write_key(tmp_path))
    return json.loads((tmp_path / "t.json").read_text())


def test_a_signature_is_of_the_digest(tmp_path, signed):
    assert signature_fits(signed)
    assert signature_fits(signed, public_key(tmp_path / "key.pub"))
    assert set(signed) - set(made("floor").to_dict()) == {"signature"}
    assert hc.read_release(tmp_path / "t.json").table == made("floor").table
    text = bytes.fromhex(signed["signature"]["value"])
    public = serialization.load_pem_public_key((tmp_path / "key.pub").read_bytes())
    public.verify(text, b"hushcount-release-2\n" + signed["digest"].encode())


def test_every_change_is_noticed(tmp_path, signed):
    signature = signed["signature"]
    write_key(tmp_path, "other")
    assert not signature_fits(signed, public_key(tmp_path / "other.pub"))
    assert not signature_fits(signed | {"digest": "sha256:" + 64 * "0"})
    for name, value in signature.items():
        assert not signature_fits(signed | {"signature": signature | {name: value[:-1] + "x"}})
        assert not signature_fits(signed | {"signature": signature | {name: value[2:]}})
    assert not signature_fits(signed | {"signature": None})


def test_other_keys_are_refused(tmp_path):
    release = made("floor")
    write_key(tmp_path, "rsa", rsa.generate_private_key(65537, 2048))
    for name in ("rsa.pem", "rsa.pub"):
        with pytest.raises(DataError) as refused:
            release.write(tmp_path / "t.json", sign=tmp_path / name)
        assert str(refused.value) == (
            f"{tmp_path}/{name} holds no Ed25519 private key in PEM without a password."
        )
    with pytest.raises(DataError, match=r"rsa\.pub holds no Ed25519 public key in PEM\.$"):
        public_key(tmp_path / "rsa.pub")
    with pytest.raises(DataError, match=r"^Cannot read the key .*none\.pem: no such file or directory\.$"):
        release.write(tmp_path / "t.json", sign=tmp_path / "none.pem")
    assert not (tmp_path / "t.json").exists()


def test_the_package_is_asked_for(tmp_path, monkeypatch):
    key = write_key(tmp_path)
    monkeypatch.setattr("hushcount.releases.stored.signatures.find_spec", lambda name: None)
    text = r"^Signatures need cryptography: in a checkout, run pip install \.\[sign\]\.$"
    with pytest.raises(ParameterError, match=text):
        made("floor").write(tmp_path / "t.json", sign=key)
