import type { Manifest } from "./manifest.js";

/** What a user should read before answering: sentences that follow from the manifest alone. */
export function consent({ epsilon, expires, reports, terms }: Manifest): string[] {
  const { collector, relay, min_batch, central_epsilon, central_delta, promise, retention_days } = terms;
  const times = (loss: string) => Math.ceil(100 * Math.exp(+loss)) / 100; // never less than it is
  const end = new Date((expires + 86400 * retention_days) * 1000).toISOString().split("T")[0];
  return [
    `Collected by: ${collector || "not stated"}.`,
    "Your answer is changed at random on this device. Only the changed report is sent.",
    `No answer makes any report more than ${times(epsilon)} times as likely as another answer does (epsilon ${epsilon}).`,
    reports > 1 && `You send ${reports} reports, which keep this promise together.`,
    relay && `Reports pass a relay, in batches of at least ${min_batch}. Relay run by: ${relay}.`,
    promise && `The relay promises: ${promise}`,
    promise &&
      `To whoever sees only batches the factor is ${times(central_epsilon)} (epsilon ${central_epsilon}), ` +
        `except with probability ${central_delta}.`,
    `Reports are deleted by ${end}.`,
  ].filter((sentence) => sentence) as string[];
}
