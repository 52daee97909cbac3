import { _compress } from "@noble/hashes/blake2.js";
import { view } from "./octets.js";

// The whole BLAKE2s of @noble/hashes, with its streams, salts and checks, is half of what this client may weigh. The
// compression function of that library is used, and this feeds it whole messages (RFC 7693); tests compare the two.
const ORDER = Uint8Array.from(
  "0123456789abcdefea489fd61c02b753b8c052fdae3671947931dcbe265a40f8905724afe1bc683d" +
  "2c6a0b834d75fe19c51fed4a0763928bdb7ec13950f4862a6fe9b308c2d714a5a2847615fb9e3cd0",
  (digit) => parseInt(digit, 16),
);
const START = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];

const compress = _compress as (...words: unknown[]) => Record<string, number>;

/** BLAKE2s-256 of a message of at least one byte under a key of at most 32 bytes. */
export function keyed(key: Uint8Array, message: Uint8Array): DataView {
  const padded = new Uint8Array(64 * (1 + Math.ceil(message.length / 64)));
  padded.set(key);
  padded.set(message, 64);
  let state = [...START];
  state[0] ^= 0x01010020 | (key.length << 8);
  for (let at = 0; at < padded.length; at += 64) {
    const last = at + 64 == padded.length;
    const block = Uint32Array.from({ length: 16 }, (_, place) => view(padded).getUint32(at + 4 * place, true));
    const second = [...START];
    second[4] ^= last ? 64 + message.length : at + 64;
    if (last) second[6] ^= -1;
    const mixed = Object.values(compress(ORDER, 0, block, 10, ...state, ...second));
    state = state.map((word, place) => word ^ mixed[place] ^ mixed[place + 8]);
  }
  const digest = view(new Uint8Array(32));
  state.forEach((word, place) => digest.setUint32(4 * place, word, true));
  return digest;
}
