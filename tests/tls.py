"""Certificates for servers of this machine, signed by an authority of their own."""

import datetime as dt
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = dt.timedelta(days=1)


def _builder(name, issuer, key):
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_named(name))
        .issuer_name(_named(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + DAY)
    )


def _named(name):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def certificates(folder, *hosts):
    """Write authority.pem, server.pem and server.key, for names and numbers of hosts."""
    own, server = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    is_authority = x509.BasicConstraints(ca=True, path_length=0)
    signs = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
    known = x509.SubjectKeyIdentifier.from_public_key(own.public_key())
    authority = _builder("an authority", "an authority", own).add_extension(is_authority, True)
    authority = authority.add_extension(signs, True).add_extension(known, False).sign(own, hashes.SHA256())
    names = [_alternative(host) for host in hosts]
    certificate = _builder("a server", "an authority", server)
    certificate = certificate.add_extension(x509.SubjectAlternativeName(names), False)
    issued = x509.AuthorityKeyIdentifier.from_issuer_public_key(own.public_key())
    certificate = certificate.add_extension(issued, False).sign(own, hashes.SHA256())
    (folder / "authority.pem").write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    (folder / "server.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    kinds = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "server.key").write_bytes(server.private_bytes(*kinds))
    (folder / "server.key").chmod(0o600)


def _alternative(host):
    """Return the name or the number of a host, as a certificate has it."""
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
