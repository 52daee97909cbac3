/** Answering once, against a collector on loopback that behaves and misbehaves as the contract allows. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import { type Options, connect } from "../src/campaign.js";
import { consent } from "../src/consent.js";
import { readManifest } from "../src/manifest.js";
import { toHex } from "../src/octets.js";
import { memory, vectors } from "./shared.js";

interface Seen {
  path: string;
  body: string;
  headers: Record<string, unknown>;
}

const good = new Map<string, any>(vectors("2_manifests").good.map((row: any) => [row.name, row]));
const byId = new Map<string, any>([...good.values()].map((row) => [row.id, row]));
let seen: Seen[] = [];
/** What the next requests get, first to last; then 202. */
let answers: { status: number; headers?: Record<string, string>; cut?: boolean }[] = [];
let manifests = 0;
let hidden = false;

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const [, , , id, what] = request.url!.split("/");
    if (request.method == "GET" && what == "manifest") {
      manifests++;
      if (hidden || !byId.has(id)) return response.writeHead(404).end();
      return response.writeHead(200).end(byId.get(id).manifest);
    }
    const body = Buffer.concat(parts).toString("hex");
    seen.push({ path: request.url!, body, headers: request.headers });
    const answer = answers.shift() ?? { status: 202 };
    if (answer.cut) return request.socket.destroy();
    return response.writeHead(answer.status, answer.headers).end();
  });
});
let origin = "";
before(async () => {
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => server.close());
beforeEach(() => {
  seen = [];
  answers = [];
  manifests = 0;
  hidden = false;
});

const addressOf = (name: string) => `${origin}/v1/campaigns/${good.get(name).id}`;

/** A client whose pauses are recorded and over at once. */
function device(options: Options = {}) {
  const pauses: number[] = [];
  const waiting: (() => void)[] = [];
  const later = (seconds: number, act: () => void) => void (pauses.push(seconds), waiting.push(act));
  return { pauses, waiting, options: { store: memory(), later, ...options } };
}

/** Wait until something holds that happens without being waited for. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 2000; turn++) {
    if (await holds()) return;
    await new Promise((ready) => setTimeout(ready, 5));
  }
  assert.fail("it did not happen");
}

test("an answer is sent once, on this page and on the next", async () => {
  const { options } = device();
  const campaign = await connect(addressOf("tree"), options);
  assert.equal(await campaign.state(), "unanswered");
  assert.equal(await campaign.report("tea"), "sent");
  assert.equal(await campaign.report("milk"), "sent");
  const next = await connect(addressOf("tree") + "/", options);
  assert.equal(await next.state(), "sent");
  assert.equal(await next.report("salt"), "sent");
  assert.equal(seen.length, 1);
  assert.equal(seen[0].body.length, 54);
  assert.equal(seen[0].headers["content-type"], "application/vnd.hushcount.report");
  assert.equal(seen[0].headers.authorization, undefined);
  assert.equal(manifests, 1);
});

test("two calls at once draw one report", async () => {
  const { options } = device();
  const campaign = await connect(addressOf("tree"), options);
  const other = await connect(addressOf("tree"), options);
  await Promise.all([campaign.report("tea"), campaign.report("milk"), other.report("salt")]);
  assert.equal(new Set(seen.map((each) => each.body)).size, 1);
});

test("the answer is stored before it is sent, and a retry sends the same bytes", async () => {
  answers = [{ status: 0, cut: true }, { status: 503, headers: { "Retry-After": "77" } }, { status: 429 }, { status: 408 }];
  const states: string[] = [];
  const { options, pauses, waiting } = device({ changed: (state) => states.push(state) });
  const campaign = await connect(addressOf("tree"), options);
  assert.equal(await campaign.report("tea"), "queued");
  const kept = options.store.kept.get(campaign.manifest.id)!;
  assert.equal(toHex(kept.reports!.buffer), seen[0].body);
  for (let round = 2; round <= 5; round++) {
    waiting.shift()!();
    await until(() => waiting.length == 1 || states.length == 1);
    assert.equal(seen.length, round);
  }
  assert.equal(await campaign.state(), "sent");
  assert.deepEqual(states, ["sent"]);
  assert.equal(seen.length, 5);
  assert.equal(new Set(seen.map((each) => each.body)).size, 1);
  assert.ok(pauses[0] >= 2 && pauses[0] < 4 && pauses[1] >= 77 && pauses[2] >= 8 && pauses[2] < 16, `${pauses}`);
});

test("an answer that did not arrive is sent by the next visit, also if the manifest cannot be fetched", async () => {
  const { options } = device();
  answers = [{ status: 0, cut: true }];
  const campaign = await connect(addressOf("tree"), options);
  assert.equal(await campaign.report("tea"), "queued");
  hidden = true;
  const next = await connect(addressOf("tree"), options);
  await until(async () => (await next.state()) == "sent");
  assert.deepEqual(seen.map((each) => each.body), [seen[0].body, seen[0].body]);
});

test("409 means done, 410 that the campaign ended first", async () => {
  for (const [status, state] of [[409, "sent"], [410, "closed"]] as const) {
    answers = [{ status }];
    const campaign = await connect(addressOf("tree"), device().options);
    assert.equal(await campaign.report("tea"), state);
    assert.equal(await campaign.report("tea"), state);
  }
  assert.equal(seen.length, 2);
});

test("a refusal is an error, and the report is kept for a visit with the right token", async () => {
  for (const status of [400, 401, 403, 404, 413, 415, 422]) {
    const { options } = device();
    answers = [{ status }];
    const campaign = await connect(addressOf("tree"), options);
    await assert.rejects(campaign.report("tea"), { message: `The report was refused with status ${status}. It is kept.` });
    assert.equal(await campaign.state(), "queued");
    const next = await connect(addressOf("tree"), { ...options, token: "right" });
    await until(async () => (await next.state()) == "sent");
    assert.equal(seen.at(-1)!.headers.authorization, "Bearer right");
    assert.equal(seen.at(-1)!.body, seen.at(-2)!.body);
  }
});

test("a campaign with several reports per user sends each once, also after an interruption", async () => {
  answers = [{ status: 202 }, { status: 503 }];
  const { options, waiting } = device();
  const campaign = await connect(addressOf("split"), options);
  assert.equal(await campaign.report("tea", "milk"), "queued");
  waiting.shift()!();
  await until(async () => (await campaign.state()) == "sent");
  const bodies = seen.map((each) => each.body);
  assert.equal(bodies.length, 4);
  assert.equal(bodies[1], bodies[2]);
  assert.equal(new Set(bodies).size, 3);
});

test("a transport's message is stored before it is sent, used again, and made anew once it is too old", async () => {
  let time = 1000;
  let made = 0;
  const transport = async () => ({ url: `${origin}/relay`, type: "x/y", body: Uint8Array.of(++made), until: 2000 });
  const { options } = device({ transport, now: () => time });
  const campaign = await connect(addressOf("tree"), options);
  answers = [{ status: 503 }, { status: 503 }];
  await campaign.report("tea");
  assert.equal(options.store.kept.get(campaign.manifest.id)!.message!.body[0], 1);
  await campaign.send();
  time = 2000;
  assert.equal(await campaign.send(), "sent");
  assert.deepEqual(seen.map((each) => each.body), ["01", "01", "02"]);
  assert.equal(options.store.kept.get(campaign.manifest.id)!.message, undefined);
});

test("a budget spans campaigns: what it does not cover is answered without the item, and spends nothing", async () => {
  const { options } = device({ budget: "3.5" });
  const store = options.store;
  for (const name of ["tree", "code", "tagged", "names"]) await (await connect(addressOf(name), options)).report("tea");
  const spent = ["tree", "code", "tagged", "names"].map((name) => store.kept.get(good.get(name).id)!.epsilon);
  assert.deepEqual(spent, ["2", "1", "0", "0.1"]);
  assert.equal(seen.length, 4);
});

test("what is wrong is said before anything is drawn", async () => {
  const { options } = device();
  await assert.rejects(connect(addressOf("tree"), { ...options, budget: "many" }), /budget/);
  await assert.rejects(connect(`${origin}/v1/campaigns/${"0".repeat(64)}`, options), { message: "No manifest (404)." });
  await assert.rejects(connect("http://127.0.0.1:1/" + good.get("tree").id, options), { message: "No manifest (no connection)." });
  await assert.rejects(connect(addressOf("tree"), { ...options, manifest: good.get("code").manifest }), /must end in the id/);
  const late = await connect(addressOf("tree"), { ...options, now: () => 4_102_444_800 });
  await assert.rejects(late.report("tea"), { message: "The campaign has ended." });
  assert.equal(options.store.kept.get(late.manifest.id)!.reports, undefined);
  assert.equal(seen.length, 0);
});

test("a storage that fails stops the answer: without memory it could be given twice", async () => {
  const { options } = device();
  const campaign = await connect(addressOf("tree"), options);
  const store = options.store;
  let writes = 0;
  const full = Object.assign(async (change: any) => {
    if (change([...store.kept.values()])?.reports && ++writes) throw new Error("no space");
    return store(change);
  }, { kept: store.kept });
  const broken = await connect(addressOf("tree"), { ...options, store: full });
  await assert.rejects(broken.report("tea"), /no space/);
  assert.equal(writes, 1);
  assert.equal(seen.length, 0);
  assert.equal(await campaign.state(), "unanswered");
});

test("the consent says who, how private, through whom, and until when", async () => {
  const sentences = consent(await readManifest(good.get("nine").manifest));
  assert.deepEqual(sentences, [
    "Collected by: Tea Board.",
    "Your answer is changed at random on this device. Only the changed report is sent.",
    "No answer makes any report more than 403.43 times as likely as another answer does (epsilon 6).",
    "Reports pass a relay, in batches of at least 100000. Relay run by: Relay é.",
    `The relay promises: ${good.get("nine").manifest.match(/"promise":"([^"]*)"/)[1]}`,
    "To whoever sees only batches the factor is 1.65 (epsilon 0.5), except with probability 0.000000001.",
    "Reports are deleted by 2100-01-01.",
  ]);
  const split = consent(await readManifest(good.get("split").manifest));
  assert.equal(split[0], "Collected by: not stated.");
  assert.ok(split.includes("You send 3 reports, which keep this promise together."));
});
