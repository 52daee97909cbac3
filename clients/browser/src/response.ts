import { decimal } from "./decimal.js";
import { type Random, view } from "./octets.js";

const ONE = 1n << 64n;
const SCALE = 1n << 192n;
const UNIT = 10n ** 18n;

/** P of the wire, out of 2^64: the probability of a truthful answer, rounded towards privacy. */
export function probabilityOf(epsilon: string, symbolBits: number): bigint {
  const exponent = decimal(epsilon)!;
  let term = SCALE;
  let total = SCALE;
  for (let count = 1n; term; count++) {
    term = (term * exponent) / (UNIT * count);
    total += term;
  }
  return (ONE * total) / (total + ((1n << BigInt(symbolBits)) - 1n) * SCALE);
}

/**
 * Draw the symbol to send: the truth with probability P / 2^64, otherwise one of the others, uniformly.
 *
 * Without a truth a uniform symbol takes its place. The arithmetic is that of section 5 of the wire, for which
 * privacy is proved: a coin of 64 bits, and whole 16-bit words of which those that change nothing are rejected.
 */
export function respond(truth: number | null, symbolBits: number, probability: bigint, random: Random): number {
  const draw = view(random(24));
  const wordsFrom = (source: DataView, start: number) =>
    Array.from({ length: 8 }, (_, place) => source.getUint16(start + 2 * place, true) & (2 ** symbolBits - 1));
  let [missing, ...words] = wordsFrom(draw, 8);
  const symbol = truth ?? missing;
  if (draw.getBigUint64(0, true) < probability) return symbol;
  for (;;) {
    const moved = words.find(Boolean);
    if (moved) return symbol ^ moved;
    words = wordsFrom(view(random(16)), 0);
  }
}
