/** What the dashboard computes before it draws; the page itself is tested in a browser. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { roundUp, series } from "../../dashboard/charts.js";
import { cell, csv } from "../../dashboard/download.js";
import { centralPromise, detectable, localPromise, rough, verdict } from "../../dashboard/words.js";

const hours = (...pairs: [string, number][]) => pairs.map(([hour, reports]) => ({ hour: `2026-11-${hour}:00:00Z`, reports }));

test("hours without reports are there, with none", () => {
  assert.deepEqual(series(hours(["18T22", 5], ["19T01", 7])), {
    unit: "hour",
    bars: [
      { label: "2026-11-18 22:00", count: 5 },
      { label: "2026-11-18 23:00", count: 0 },
      { label: "2026-11-19 00:00", count: 0 },
      { label: "2026-11-19 01:00", count: 7 },
    ],
  });
});

test("many hours become days, and every report is counted", () => {
  const { unit, bars } = series(hours(["15T22", 5], ["15T23", 6], ["18T22", 7]));
  assert.equal(unit, "day");
  assert.deepEqual(bars.map((bar) => bar.count), [11, 0, 0, 7]);
});

test("the scale ends in a round number that no count exceeds", () => {
  assert.deepEqual([0, 1, 3, 5, 9, 10, 11, 2001].map(roundUp), [1, 1, 5, 5, 10, 10, 20, 5000]);
});

test("a cell of a CSV file is what it was, and no formula", () => {
  assert.deepEqual(["tea", 'a "b"', "a,b", "a\nb", "=1+1", "@x", 5, [1, 2]].map(cell), [
    "tea", '"a ""b"""', '"a,b"', '"a\nb"', "'=1+1", "'@x", "5", '"[1,2]"',
  ]);
  assert.equal(csv({ rows: [{ key: "tea", count: 5, lower: 0, upper: 11 }], confidence: "0.95" }), "item,count,lower,upper\r\ntea,5,0,11\r\n");
});

test("numbers keep what matters", () => assert.deepEqual([1.0373, 10.373, 104.2, 1037.3].map(rough), ["1.04", "10.4", "104", "1,037"]));

const status: any = { reports: 100, users: 1000, least_detectable: { now: 150.2, planned: 475 } };

test("what can be found is said for every stage of a campaign", () => {
  assert.equal(detectable(status), "100 reports are too few to find any item: it would need 151 holders. At the planned 1,000 users it is 475.");
  assert.match(detectable({ ...status, reports: 500 }), /^With 500 reports, an item is found if about 151 users or more hold it\./);
  assert.match(detectable({ ...status, reports: 0, least_detectable: { now: null, planned: 475 } }), /^No report has come yet\./);
  assert.equal(detectable({ ...status, least_detectable: { now: null, planned: null } }), "The manifest states no smallest count to find.");
});

const terms = { collector: "C", relay: "R", promise: "P.", central_epsilon: "0.5", central_delta: "0.000001", min_batch: 1000 };
const manifest: any = { epsilon: "6", reports: 1, terms };

test("promises are never rounded to the better", () => {
  assert.match(localPromise(manifest), /more than 404 times as likely .* \(epsilon 6\)/);
  assert.match(centralPromise(manifest), /at least 1,000 honest reports, the factor is 1.65 \(epsilon 0.5\), except with probability 0.000001/);
  assert.match(centralPromise({ ...manifest, terms: { ...terms, central_epsilon: "" } }), /^No central guarantee/);
  assert.match(localPromise({ ...manifest, reports: 3 }), /^The 3 reports of a user together are/);
});

test("the check says what is suspicious, and what it cannot see", () => {
  assert.match(verdict({ reports: 5, suspicious: [], deviations: { nonces: 2.5 } }), /^Nothing looks forged in 5 reports.*cannot be seen/);
  assert.match(verdict({ reports: 5, suspicious: ["nonces", "symbols"], deviations: { nonces: 25 } }), /^The nonces and the symbols cannot come/);
});
