/** HPKE (RFC 9180), base mode, for one message: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305. */
import { chacha20poly1305 } from "@noble/ciphers/chacha.js";
import { x25519 } from "@noble/curves/ed25519.js";
import { expand, extract } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { type Octets, utf8 } from "./octets.js";

const KEM = 0x0020;
const KDF = 0x0001;
const AEAD = 0x0003;
const NONE = new Uint8Array(0);

const joined = (...parts: Uint8Array[]): Octets => Uint8Array.from(parts.flatMap((part) => [...part]));
const twoBytes = (number: number): Octets => Uint8Array.of(number >> 8, number & 255);

/** LabeledExtract and LabeledExpand of section 4, for a suite. */
function labelled(suite: Uint8Array) {
  const version = utf8("HPKE-v1");
  return {
    extract: (salt: Uint8Array, label: string, secret: Uint8Array) =>
      extract(sha256, joined(version, suite, utf8(label), secret), salt),
    expand: (secret: Uint8Array, label: string, info: Uint8Array, length: number) =>
      expand(sha256, secret, joined(twoBytes(length), version, suite, utf8(label), info), length),
  };
}

/** Seal a message to a public key: the encapsulated key (32 bytes), then the ciphertext. */
export function seal(
  publicKey: Uint8Array, message: Uint8Array, info: Uint8Array, associated: Uint8Array, ephemeral: Uint8Array,
): Octets {
  const encapsulated = x25519.getPublicKey(ephemeral);
  const kem = labelled(joined(utf8("KEM"), twoBytes(KEM)));
  const agreed = kem.extract(NONE, "eae_prk", x25519.getSharedSecret(ephemeral, publicKey));
  const shared = kem.expand(agreed, "shared_secret", joined(encapsulated, publicKey), 32);

  const suite = labelled(joined(utf8("HPKE"), twoBytes(KEM), twoBytes(KDF), twoBytes(AEAD)));
  const mode = Uint8Array.of(0);
  const context = joined(mode, suite.extract(NONE, "psk_id_hash", NONE), suite.extract(NONE, "info_hash", info));
  const secret = suite.extract(shared, "secret", NONE);
  const key = suite.expand(secret, "key", context, 32);
  const nonce = suite.expand(secret, "base_nonce", context, 12);
  return joined(encapsulated, chacha20poly1305(key, nonce, associated).encrypt(message));
}
