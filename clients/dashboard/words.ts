/** Numbers and sentences. */
import type { Checked, Manifest, Status } from "./service.js";

export const whole = (value: number): string => Math.round(value).toLocaleString("en-GB");

export const rough = (value: number): string =>
  value.toLocaleString("en-GB", value < 100 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 0 });

/** A moment as the collector writes it, without the seconds. */
export const moment = (text: string): string => `${text.slice(0, 10)} ${text.slice(11, 16)} UTC`;

export const counted = (count: number, noun: string): string => `${whole(count)} ${noun}${count == 1 ? "" : "s"}`;

/** e^epsilon, with three digits or whole, never rounded down. */
function factor(epsilon: string): string {
  const exact = Math.exp(Number(epsilon));
  const step = 10 ** Math.min(Math.floor(Math.log10(exact)) - 2, 0);
  return rough(Math.ceil(exact / step) * step);
}

/** The promise to every user, whoever sees the report. */
export function localPromise(manifest: Manifest): string {
  const each = manifest.reports > 1 ? `The ${manifest.reports} reports of a user together are` : "Every report is";
  return `${each} randomised before leaving the user's device: no answer makes any report more than ` +
    `${factor(manifest.epsilon)} times as likely as another answer does (epsilon ${manifest.epsilon}). ` +
    "This holds against everybody, whoever runs the collector or steals its disk.";
}

/** The promise that rests on the relay; a sentence that there is none otherwise. */
export function centralPromise({ terms }: Manifest): string {
  if (!terms.central_epsilon) return "No central guarantee is claimed: what is promised is the local one.";
  return `Against whoever sees only shuffled batches of at least ${whole(terms.min_batch)} honest reports, the factor is ` +
    `${factor(terms.central_epsilon)} (epsilon ${terms.central_epsilon}), except with probability ${terms.central_delta}. ` +
    `It rests on the relay, run by ${terms.relay}: ${terms.promise}`;
}

/** What can be found with the reports that are there, and at the planned number. */
export function detectable({ reports, users, least_detectable: least }: Status): string {
  if (least.planned === null) return "The manifest states no smallest count to find.";
  const planned = `At the planned ${counted(users, "user")} it is ${whole(Math.ceil(least.planned))}.`;
  if (least.now === null) return `No report has come yet. ${planned}`;
  const now = Math.ceil(least.now);
  const found = now > reports
    ? `${counted(reports, "report")} are too few to find any item: it would need ${whole(now)} holders.`
    : `With ${counted(reports, "report")}, an item is found if about ${whole(now)} users or more hold it.`;
  return `${found} ${planned}`;
}

/** What the check of the reports says. */
export function verdict({ reports, suspicious, deviations }: Checked): string {
  const farthest = Math.max(...Object.values(deviations));
  if (!suspicious.length) {
    return `Nothing looks forged in ${counted(reports, "report")}: the farthest figure lies ${rough(farthest)} standard ` +
      "deviations from what honest clients send. Careful forgers cannot be seen in this way.";
  }
  return `The ${suspicious.join(" and the ")} cannot come from honest clients alone: they lie up to ${rough(farthest)} standard ` +
    "deviations away. Do not trust the table before you know why.";
}
