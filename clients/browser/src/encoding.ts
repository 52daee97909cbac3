import { brokenText, utf8 } from "./octets.js";

/** How items become integers. */
export type Encoding =
  | { kind: "words" | "packed_words"; alphabet: string; length: number; truncate: number }
  | { kind: "bytes"; length: number; truncate: number }
  | { kind: "integers"; bits: number }
  | { kind: "categories"; names: string[] };

/** What a user may hold. Anything else cannot be encoded, and counts as no item. */
export type Item = string | number | bigint | Uint8Array | null | undefined;

const bitsOf = (value: bigint | number): number => value.toString(2).length;

/** The base to which the letters of an item are digits. */
function baseOf(encoding: Encoding): bigint {
  if (encoding.kind == "bytes") return 512n;
  const letters = [...(encoding as { alphabet: string }).alphabet].length;
  return encoding.kind == "words" ? 1n << BigInt(bitsOf(letters)) : BigInt(letters + 1);
}

/** How many bits an encoded item has. */
export function widthOf(encoding: Encoding): number {
  if (encoding.kind == "integers") return encoding.bits;
  if (encoding.kind == "categories") return bitsOf(encoding.names.length - 1);
  return bitsOf(baseOf(encoding) ** BigInt(encoding.length) - 1n);
}

/** The integer of an item, or null if it cannot be encoded. */
export function encode(encoding: Encoding, item: unknown): bigint | null {
  if (encoding.kind == "integers") {
    const whole = typeof item == "bigint" || Number.isSafeInteger(item) ? BigInt(item as bigint) : -1n;
    return whole >> BigInt(encoding.bits) ? null : whole;
  }
  if (encoding.kind == "categories") {
    const place = encoding.names.indexOf(item as string);
    return place < 0 ? null : BigInt(place);
  }
  const codes = encoding.kind == "bytes" ? octets(item) : letters(encoding.alphabet, item);
  const { length, truncate } = encoding;
  const used = codes.slice(0, length);
  if (used.some((code) => !code) || (codes.length > length && !truncate)) return null;
  const base = baseOf(encoding);
  return used.reduce((total, code) => total * base + BigInt(code), 0n) * base ** BigInt(length - used.length);
}

const NOTHING = [0];

/** The places of the letters of a word in the alphabet, from 1; 0 for one that is not there. */
function letters(alphabet: string, item: unknown): number[] {
  const known = [...alphabet];
  return typeof item == "string" ? [...item].map((letter) => known.indexOf(letter) + 1) : NOTHING;
}

/** The bytes of an item plus 1. */
function octets(item: unknown): number[] {
  const bytes = typeof item == "string" && !brokenText(item) ? utf8(item) : item;
  return bytes instanceof Uint8Array ? Array.from(bytes, (byte) => byte + 1) : NOTHING;
}
