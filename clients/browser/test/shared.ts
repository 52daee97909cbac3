import { readFileSync } from "node:fs";
import { webcrypto } from "node:crypto";
import { type Item } from "../src/encoding.js";
import { fromHex, type Random } from "../src/octets.js";
import { type Kept, type Store } from "../src/store.js";

globalThis.crypto ??= webcrypto as Crypto;

/** The vectors that every client of the wire is tested with. */
export const vectors = (name: string): any =>
  JSON.parse(readFileSync(new URL(`../../../../tests/vectors/ldp_${name}.json`, import.meta.url), "utf8"));

export const itemOf = (plain: any): Item =>
  plain?.hex !== undefined ? fromHex(plain.hex) : plain?.integer !== undefined ? BigInt(plain.integer) : plain;

/** Fixed bytes in the place of the secure generator, and what is left of them. */
export function fixed(digits: string): Random & { left: () => number } {
  const bytes = fromHex(digits);
  let place = 0;
  const random = (count: number) => {
    if (place + count > bytes.length) throw new Error("more random bytes than the vector has");
    return bytes.slice(place, (place += count));
  };
  return Object.assign(random, { left: () => bytes.length - place });
}

export const system: Random = (count) => crypto.getRandomValues(new Uint8Array(count));

/** What a browser keeps, in memory. */
export function memory(): Store & { kept: Map<string, Kept> } {
  const kept = new Map<string, Kept>();
  const store: Store = async (change) => {
    const changed = change([...kept.values()].map((each) => structuredClone(each)));
    if (changed) kept.set(changed.id, structuredClone(changed));
    return changed;
  };
  return Object.assign(store, { kept });
}
