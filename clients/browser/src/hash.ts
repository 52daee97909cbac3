import { keyed } from "./blake2s.js";
import { low, utf8, view } from "./octets.js";

/** The question number of hashes that all questions of a group share. */
export const SHARED = 0xffff;

/** The sixteen words that a nonce gets from the public seed in a group. */
export function wordsOf(seed: Uint8Array, nonce: Uint8Array, group: number): number[] {
  const digests = [0, 1].map((block) => keyed(seed, Uint8Array.of(...nonce, group, block)));
  return Array.from({ length: 16 }, (_, place) => digests[place >> 3].getUint32((place & 7) * 4, true));
}

/** The first constants b, a_0, a_1, .. of a hash, of 64 bits each. */
export function constants(seed: Uint8Array, purpose: string, where: number[], count: number): bigint[] {
  const message = new Uint8Array(24);
  const fields = view(message);
  message.set(utf8(purpose));
  message[16] = where[0];
  fields.setUint16(17, where[1], true);
  fields.setUint32(19, where[2], true);
  return Array.from({ length: count }, (_, place) => {
    message[23] = place >> 2;
    return keyed(seed, message).getBigUint64((place & 3) * 8, true);
  });
}

/** Hash a value of `width` bits to `bits` bits: multiply-shift over its words of 32 bits. */
export function hash(
  seed: Uint8Array, purpose: string, where: number[], value: bigint, width: number, bits: number,
): bigint {
  const [start, ...factors] = constants(seed, purpose, where, 1 + Math.ceil(width / 32));
  const total = factors.reduce((sum, factor, place) => sum + factor * low(value >> BigInt(32 * place), 32), start);
  return low(total, 64) >> BigInt(64 - bits);
}
