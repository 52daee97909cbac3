/** The distribution of a response: counted exactly over all words, for any coin. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Item } from "../src/encoding.js";
import { readManifest } from "../src/manifest.js";
import { probabilityOf, respond } from "../src/response.js";
import { drawReports } from "../src/report.js";
import { system, vectors } from "./shared.js";

/** A draw with a coin, a word for a missing truth, and the word that replaces; the rest would start again. */
function draw(coin: bigint, missing: number, moved: number): (count: number) => Uint8Array {
  return (count) => {
    assert.equal(count, 24);
    const bytes = new DataView(new ArrayBuffer(24));
    bytes.setBigUint64(0, coin, true);
    bytes.setUint16(8, missing, true);
    bytes.setUint16(10, moved, true);
    bytes.setUint16(12, 1, true);
    return new Uint8Array(bytes.buffer);
  };
}

for (const bits of [1, 3, 6, 10]) {
  test(`the coin decides exactly, and ${bits} bits are replaced uniformly over all 65,536 words`, () => {
    const size = 2 ** bits;
    const chance = probabilityOf("2", bits);
    const truth = size - 1;
    assert.equal(respond(truth, bits, chance, draw(chance - 1n, 0, 5)), truth);
    const counts = new Map<number, number>();
    for (let word = 0; word < 65536; word++) {
      if (word % size == 0) continue; // rejected: such a word changes nothing, and the next one is taken
      const sent = respond(truth, bits, chance, draw(chance, 0, word));
      counts.set(sent, (counts.get(sent) ?? 0) + 1);
    }
    assert.equal(counts.has(truth), false);
    assert.deepEqual(new Set(counts.values()), new Set([65536 / size]));
    assert.equal(counts.size, size - 1);
  });

  test(`a missing truth of ${bits} bits is uniform over all words`, () => {
    const counts = new Map<number, number>();
    for (let word = 0; word < 65536; word++) {
      const sent = respond(null, bits, 1n << 64n, draw(0n, word, 1));
      counts.set(sent, (counts.get(sent) ?? 0) + 1);
    }
    assert.equal(counts.size, 2 ** bits);
    assert.deepEqual(new Set(counts.values()), new Set([65536 / 2 ** bits]));
  });
}

test("words that change nothing are rejected until one changes something", () => {
  let asked = 0;
  const random = (count: number) => {
    const bytes = new Uint8Array(count).fill(255, 0, count == 24 ? 8 : 0); // the coin is above P
    if (++asked == 3) bytes[2] = 3;
    return bytes;
  };
  assert.equal(respond(1, 2, 0n, random), 1 ^ 3);
  assert.equal(asked, 3);
});

test("P keeps the promise exactly: P (q - 1) <= e^epsilon (2^64 - P), by a bound from below of e^epsilon", () => {
  for (const row of vectors("2_responses").probabilities) {
    const [whole, places = ""] = row.epsilon.split(".");
    const exponent = BigInt(whole + places.padEnd(18, "0"));
    let term = 1n << 256n;
    let sum = term;
    for (let count = 1n; term; count++) {
      term = (term * exponent) / (10n ** 18n * count);
      sum += term;
    }
    const chance = BigInt(row.probability);
    const others = (1n << BigInt(row.symbol_bits)) - 1n;
    assert.ok(chance * others << 256n <= sum * ((1n << 64n) - chance));
  }
});

test("with the system's bytes, every symbol is as frequent as stated (false alarm below 1e-9)", () => {
  const users = 40000;
  const chance = probabilityOf("2", 3);
  const counts = new Array(8).fill(0);
  for (let user = 0; user < users; user++) counts[respond(5, 3, chance, system)]++;
  const truthful = Number(chance) / 2 ** 64;
  counts.forEach((count, symbol) => {
    const expected = symbol == 5 ? truthful : (1 - truthful) / 7;
    // Hoeffding: exceeded with probability 2 exp(-2 users t^2), over eight symbols below 1e-9.
    assert.ok(Math.abs(count / users - expected) < Math.sqrt(Math.log(16e9) / (2 * users)));
  });
});

test("of several items each is as likely to be reported as any other", async () => {
  const row = vectors("2_manifests").good.find((each: any) => each.name == "names");
  const manifest = await readManifest(row.manifest);
  const sure = { ...manifest, groups: manifest.groups.map((group) => ({ ...group, probability: String(1n << 64n) })) };
  // With P = 2^64 a symbol is true; two items that differ in their cell differ in half of the symbols.
  const { assigned, truthful } = await import("../src/question.js");
  const { encode } = await import("../src/encoding.js");
  const items: Item[] = ["tea", "café"];
  let first = 0;
  let told = 0;
  for (let user = 0; user < 20000; user++) {
    const report = drawReports(sure, items, system);
    const asked = assigned(sure, report.slice(9, 25), 0);
    const [tea, coffee] = items.map((item) => truthful(sure, encode(sure.encoding, item)!, 0, asked));
    if (tea == coffee) continue;
    told++;
    if (report[25] == tea) first++;
    else assert.equal(report[25], coffee);
  }
  assert.ok(told > 8000);
  assert.ok(Math.abs(first / told - 0.5) < Math.sqrt(Math.log(2e9) / (2 * told)));
});
