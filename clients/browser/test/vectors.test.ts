/** Every vector of the wire, good and bad: the reports are, byte for byte, those of the Python client. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { blake2s } from "@noble/hashes/blake2.js";
import { keyed } from "../src/blake2s.js";
import { encode, widthOf } from "../src/encoding.js";
import { constants, hash, wordsOf } from "../src/hash.js";
import { readManifest } from "../src/manifest.js";
import { fromHex, toHex } from "../src/octets.js";
import { assigned, cellOf, truthful } from "../src/question.js";
import { drawReports } from "../src/report.js";
import { probabilityOf, respond } from "../src/response.js";
import { fixed, itemOf, system, vectors } from "./shared.js";

const manifests = new Map<string, any>();
for (const row of vectors("2_manifests").good) manifests.set(row.name, await readManifest(row.manifest));

test("BLAKE2s is that of the library, for every length of key and message in use", () => {
  for (const length of [1, 17, 18, 24, 63, 64, 65, 128, 129, 256]) {
    for (const size of [1, 16, 32]) {
      const message = crypto.getRandomValues(new Uint8Array(length));
      const key = crypto.getRandomValues(new Uint8Array(size));
      assert.equal(toHex(keyed(key, message).buffer as ArrayBuffer), toHex(blake2s(message, { key }).slice().buffer));
    }
  }
});

test("encodings", () => {
  for (const { encoding, width, items } of vectors("encodings").encodings) {
    assert.equal(widthOf(encoding), width);
    for (const { item, value } of items) {
      assert.equal(encode(encoding, itemOf(item)), value === null ? null : BigInt(value), `${encoding.kind} ${JSON.stringify(item)}`);
    }
  }
});

test("good manifests are read", () => {
  assert.equal(manifests.size, 12);
  for (const row of vectors("2_manifests").good) assert.equal(manifests.get(row.name).id, row.id);
});

test("spaces and line ends between the parts of a manifest change nothing", async () => {
  const row = vectors("2_manifests").good[0];
  assert.equal((await readManifest(JSON.stringify(JSON.parse(row.manifest), null, 2))).id, row.id);
});

for (const version of ["", "2_"]) {
  for (const row of vectors(version + "manifests").bad) {
    test(`bad manifest ${version}${row.name}`, () => assert.rejects(readManifest(row.manifest), { name: "HushcountError" }));
  }
}

test("campaigns of version 1 are refused: their nonces come from the collector", async () => {
  for (const row of vectors("manifests").good) await assert.rejects(readManifest(row.manifest), /not of version 2/);
});

/** A manifest of the vectors with another field, and the id that belongs to it. */
async function edited(name: string, change: (fields: any) => void): Promise<string> {
  const { canonical } = await import("../src/manifest.js");
  const fields = JSON.parse(vectors("2_manifests").good.find((row: any) => row.name == name).manifest);
  delete fields.id;
  change(fields);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(canonical(fields)));
  return canonical({ ...fields, id: toHex(digest) });
}

const EDITS: [string, string, (fields: any) => void][] = [
  ["a boolean for an integer", "tree", (fields) => (fields.users = true)],
  ["a text for an integer", "tree", (fields) => (fields.users = "1000")],
  ["a count beyond exact integers", "tree", (fields) => (fields.users = 2 ** 53)],
  ["half a surrogate pair", "tree", (fields) => (fields.terms.collector = "\ud83c")],
  ["terms of too many characters", "tree", (fields) => (fields.terms.collector = "🌿".repeat(1001))],
  ["a promise without a claim", "tree", (fields) => (fields.terms.promise = "We shuffle.")],
  ["a kind that every object has", "tree", (fields) => (fields.encoding.kind = "toString")],
  ["a letter twice", "tree", (fields) => (fields.encoding.alphabet = "abca")],
  ["no letters", "tree", (fields) => (fields.encoding.alphabet = "")],
  ["truncate as a truth value", "tree", (fields) => (fields.encoding.truncate = false)],
  ["names that are not distinct", "names", (fields) => (fields.encoding.names[1] = fields.encoding.names[0])],
  ["one name", "names", (fields) => (fields.encoding.names = ["tea"])],
  ["a list for parameters", "tree", (fields) => (fields.parameters = [])],
  ["a parameter in capitals", "tree", (fields) => (fields.parameters = { Note: 1 })],
  ["a nested parameter", "tree", (fields) => (fields.parameters = { note: [1] })],
  ["a column of zero", "code", (fields) => (fields.groups[0].questions[0].columns[0] = "0")],
  ["a column with leading zeros", "code", (fields) => (fields.groups[0].questions[0].columns[0] = "01")],
  ["a column in capitals", "code", (fields) => (fields.groups[0].questions[0].columns[0] = "A")],
  ["a column that is too wide", "code", (fields) => (fields.groups[0].questions[0].columns[0] = "f".repeat(9))],
  ["columns that are no power of two", "code", (fields) => fields.groups[0].questions[0].columns.pop()],
  ["a quotient larger than the bucket", "code", (fields) => (fields.groups[0].questions[0].quotient_bits = 13)],
  ["a chunk beyond the item", "chunks", (fields) => (fields.groups[0].questions[0].start = 21)],
  ["a tagged prefix of the whole item", "tagged", (fields) => (fields.groups[0].questions[0].bits = 30)],
  ["a groups object", "tree", (fields) => (fields.groups = { 0: fields.groups[0], length: 1 })],
  ["more bits than a report holds", "several", (fields) =>
    (fields.groups = [0, 0, 0, 0].map(() => ({ ...fields.groups[1], epsilon: "0.5" })))],
  ["an expired form of time", "tree", (fields) => (fields.expires = 253402300800)],
  ["a claim for two groups", "several", (fields) =>
    Object.assign(fields.terms, { relay: "R", promise: "P", min_batch: 2, central_epsilon: "1", central_delta: "0.1" })],
];
for (const [name, manifest, change] of EDITS) {
  test(`bad manifest: ${name}`, async () => assert.rejects(readManifest(await edited(manifest, change)), { name: "HushcountError" }));
}

test("an edit that keeps every rule is another campaign, and is read", async () => {
  const manifest = await readManifest(await edited("tree", (fields) => (fields.terms.collector = "Board of Tea 🌿")));
  assert.notEqual(manifest.id, manifests.get("tree").id);
});

test("hashes", () => {
  for (const row of vectors("questions").hashes) {
    const seed = fromHex(row.seed);
    const where = [row.group, row.question, row.row];
    const found = constants(seed, row.purpose, where, 1 + Math.ceil(row.value_bits / 32));
    assert.deepEqual(found.map((each) => each.toString(16).padStart(16, "0")), row.constants);
    assert.equal(hash(seed, row.purpose, where, BigInt(row.value), row.value_bits, row.bits), BigInt(row.hash));
  }
});

test("questions: what a nonce is asked, and the truthful answer", () => {
  const rows = vectors("2_questions").asked;
  assert.equal(rows.length, 96);
  for (const row of rows) {
    const manifest = manifests.get(row.manifest);
    const value = encode(manifest.encoding, itemOf(row.item));
    row.groups.forEach((expected: any, number: number) => {
      const nonce = fromHex(row.nonce);
      const asked = assigned(manifest, nonce, number);
      const [cell, flip] = value === null ? [null, null] : cellOf(manifest, value, number, asked);
      const symbol = value === null ? null : truthful(manifest, value, number, asked);
      const words = wordsOf(manifest.publicSeed, nonce, number);
      assert.deepEqual({ ...asked, words, cell: cell === null ? null : Number(cell), flip, symbol }, expected);
    });
  }
});

test("probabilities", () => {
  for (const row of vectors("2_responses").probabilities) {
    assert.equal(probabilityOf(row.epsilon, row.symbol_bits), BigInt(row.probability));
  }
});

test("responses", () => {
  for (const row of vectors("2_responses").responses) {
    assert.equal(respond(row.truth, row.symbol_bits, BigInt(row.probability), fixed(row.random)), row.symbol);
  }
});

test("reports", () => {
  const rows = vectors("2_reports").good;
  assert.equal(rows.length, 109);
  for (const row of rows) {
    const manifest = manifests.get(row.manifest);
    const random = fixed(row.nonce + row.random);
    assert.equal(toHex(drawReports(manifest, [itemOf(row.item)], random).buffer), row.report);
    assert.equal(random.left(), 0);
  }
});

/** The checks of a collector, in their order; a client's own reports have to pass them. */
function refusal(report: Uint8Array, manifest: any): string | undefined {
  if (report.length != 27) return "length";
  if (report[0] != 2) return "version";
  if (toHex(report.slice(1, 9).buffer) != manifest.id.slice(0, 16)) return "campaign";
  const bits = manifest.groups.reduce((total: number, group: any) => total + group.symbol_bits, 0);
  return report[25] + 256 * report[26] >= 2 ** bits ? "symbol" : undefined;
}

test("bad reports break the rule that the vectors name, and drawn reports none", () => {
  for (const row of vectors("2_reports").bad) {
    assert.equal(refusal(fromHex(row.report), manifests.get(row.manifest)), row.reason);
  }
  for (const manifest of manifests.values()) {
    const reports = drawReports(manifest, ["tea"], system);
    assert.equal(reports.length, 27 * manifest.reports);
    for (let start = 0; start < reports.length; start += 27) {
      assert.equal(refusal(reports.slice(start, start + 27), manifest), undefined);
    }
  }
});
