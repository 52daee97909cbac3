import { encode, type Item } from "./encoding.js";
import { keyed } from "./blake2s.js";
import type { Manifest } from "./manifest.js";
import { fromHex, type Octets, type Random, utf8 } from "./octets.js";
import { assigned, truthful } from "./question.js";
import { respond } from "./response.js";

export const REPORT_BYTES = 27;

/** The encoded items that a user reports: all of them, or as many as the manifest asks for, by a keyed hash. */
function chosen(manifest: Manifest, items: Item[], random: Random): (bigint | null)[] {
  const values = [...new Set(items.map((item) => encode(manifest.encoding, item)).filter((value) => value !== null))];
  if (items.length > 1) {
    const key = random(16);
    const place = (value: bigint) => keyed(key, utf8(value.toString(16))).getBigUint64(0);
    values.sort((a, b) => (place(a) < place(b) ? -1 : 1));
  }
  return Array.from({ length: manifest.reports }, (_, number) => values[number] ?? null);
}

/** Draw the reports of a user, one after the other: `reports` of the manifest, of 27 bytes each. */
export function drawReports(manifest: Manifest, items: Item[], random: Random): Octets {
  const values = chosen(manifest, items, random);
  const nonces = values.map(() => random(16));
  const reports = new Uint8Array(REPORT_BYTES * values.length);
  values.forEach((value, place) => {
    let joined = 0;
    let shift = 0;
    manifest.groups.forEach((group, number) => {
      const asked = assigned(manifest, nonces[place], number);
      const truth = value === null ? null : truthful(manifest, value, number, asked);
      joined |= respond(truth, group.symbol_bits, BigInt(group.probability), random) << shift;
      shift += group.symbol_bits;
    });
    reports.set([2, ...fromHex(manifest.id.slice(0, 16)), ...nonces[place], joined & 255, joined >> 8], REPORT_BYTES * place);
  });
  return reports;
}
