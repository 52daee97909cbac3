/** Sealed reports: the vector of RFC 9180, and what a relay gets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { x25519 } from "@noble/curves/ed25519.js";
import { seal } from "../src/hpke.js";
import { fromHex, toHex, utf8 } from "../src/octets.js";
import { sealed } from "../src/sealed.js";
import { system } from "./shared.js";

const NOW = 1_800_000_000;

test("the first message of appendix A.2.1 of RFC 9180", () => {
  const found = seal(
    fromHex("4310ee97d88cc1f088a5576c77ab0cf5c3ac797f3d95139c6c84b5429c59662a"),
    utf8("Beauty is truth, truth beauty"),
    utf8("Ode on a Grecian Urn"),
    utf8("Count-0"),
    fromHex("f4ec9b33b792c372c1d2c2063507b684ef925b8c75a42dbcbf57d63ccd381600"),
  );
  assert.equal(
    toHex(found.buffer),
    "1afa08d3dec047a643885163f1180476fa7ddb54c6a8029ea33f95796bf2ac4a" +
      "1c5250d8034ec2b784ba2cfd69dbdb8af406cfe3ff938e131f0def8c8b60b4db21993c62ce81883d2dd1b51a28",
  );
});

const key = (id: string, expires: number, suite = "X25519-HKDF-SHA256/HKDF-SHA256/ChaCha20-Poly1305") => ({
  id, expires, suite, public: toHex(x25519.getPublicKey(new Uint8Array(32).fill(7)).slice().buffer),
});
const CAMPAIGN = "https://collector.example/v1/campaigns/" + "ab".repeat(32);

test("a sealed report names the key, is 83 bytes long, and goes to the relay", async () => {
  const keys = [key("01".repeat(8), NOW + 10), key("02".repeat(8), NOW + 20), key("03".repeat(8), NOW - 1)];
  const transport = sealed("https://relay.example/", { keys, random: system, now: () => NOW });
  const message = await transport(CAMPAIGN, "ab".repeat(32), new Uint8Array(27));
  assert.equal(message.url, `https://relay.example/v1/campaigns/${"ab".repeat(32)}/sealed`);
  assert.equal(message.type, "application/vnd.hushcount.sealed");
  assert.equal(message.body.length, 83);
  assert.equal(toHex(message.body.slice(0, 8).buffer), "02".repeat(8));
  assert.equal(message.until, NOW + 20);
});

test("without a key of the one suite that has not expired nothing is sent", async () => {
  for (const keys of [[], [key("01".repeat(8), NOW)], [key("01".repeat(8), NOW + 10, "P-256")]]) {
    const transport = sealed("https://relay.example", { keys, now: () => NOW });
    await assert.rejects(transport(CAMPAIGN, "ab".repeat(32), new Uint8Array(27)), /no key/);
  }
});
