import { decimal, sum } from "./decimal.js";
import type { Item } from "./encoding.js";
import { HushcountError, must } from "./error.js";
import { type Manifest, readManifest } from "./manifest.js";
import { type Octets, type Random, systemRandom } from "./octets.js";
import { drawReports, REPORT_BYTES } from "./report.js";
import { browserStore, type Kept, type Message, type Store } from "./store.js";

/** `queued`: stored, and sent as soon as the collector can be reached. `closed`: the campaign ended first. */
export type State = "unanswered" | "queued" | "sent" | "closed";

/** Makes the request that carries a report. */
export type Transport = (campaign: string, id: string, report: Octets) => Promise<Message>;

export interface Options {
  /** The client token, for campaigns that need one. It is not stored. */
  token?: string;
  /** Most epsilon that all campaigns of this origin may spend together, as a decimal in a text. */
  budget?: string;
  /** The manifest, if the page has it already. */
  manifest?: string;
  /** How a report travels; by default as it is, to the collector. */
  transport?: Transport;
  /** Called when the state of the answer changes, also long after `report` has returned. */
  changed?: (state: State) => void;
  store?: Store;
  random?: Random;
  /** The time in seconds since 1970. */
  now?: () => number;
  /** Called with seconds and what to do then. */
  later?: (seconds: number, act: () => void) => void;
}

/** A campaign whose manifest was checked. */
export interface Campaign {
  readonly url: string;
  readonly manifest: Manifest;
  /** Whether this browser has answered, and whether its answer has arrived. */
  state(): Promise<State>;
  /**
   * Answer the campaign, once: the first call draws the report and stores it; every later one, on any page of this
   * origin, sends nothing new. Without an item, or with one that cannot be encoded, the report is uniform.
   */
  report(...items: Item[]): Promise<State>;
  /** Send what is stored and has not arrived, if there is any. The browser's `online` event calls it. */
  send(): Promise<State>;
}

const FIRST_PAUSE = 2;
const LONGEST_PAUSE = 300;
const PRIVATE = { credentials: "omit", referrerPolicy: "no-referrer" } as const;

const plain: Transport = async (url, _, body) => ({ url: url + "/reports", type: "application/vnd.hushcount.report", body });

/** How many seconds a collector asks to wait, 0 if it does not say. */
function pauseOf(response: Response): number {
  const after = response.headers.get("Retry-After")!;
  return +after || (Date.parse(after) - Date.now()) / 1000 || 0;
}

/** The manifest of a campaign as the collector gives it. */
async function fetched(url: string): Promise<string> {
  const response = await fetch(url + "/manifest", PRIVATE).catch(() => undefined);
  must(response?.ok, `No manifest (${response?.status ?? "no connection"}).`);
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await response.arrayBuffer());
}

/**
 * Fetch and check the manifest of a campaign, and send an answer of an earlier visit that has not arrived.
 *
 * `address` is that of the campaign and ends in its id: `https://collector.example/v1/campaigns/<id>`.
 */
export async function connect(address: string, options: Options = {}): Promise<Campaign> {
  const {
    budget,
    token,
    changed,
    transport = plain,
    store = browserStore,
    random = systemRandom,
    now = () => Date.now() / 1000,
    later = (seconds, act) => setTimeout(act, seconds * 1000),
  } = options;
  const url = address.replace(/\/+$/, "");
  const id = url.slice(-64);
  const find = (all: Kept[]) => all.find((each) => each.id == id);
  const write = (change: (kept: Kept) => Kept) => store((all) => change(find(all)!));
  const read = async () => {
    let found: Kept | undefined;
    await store((all) => void (found = find(all)));
    return found;
  };
  let failures = 0;
  let waiting = false;
  let sending: Promise<unknown> = Promise.resolve();

  const limit = decimal(budget);
  must(!budget || limit !== undefined, "The budget must be a decimal in a text.");
  const text = options.manifest ?? (await read())?.manifest ?? (await fetched(url));
  const manifest = await readManifest(text);
  must(manifest.id == id, "The address must end in the id of the manifest.");
  let earlier: Kept | undefined;
  await store((all) => ((earlier = find(all)) ? undefined : { id, manifest: text, epsilon: "0", sent: 0 }));

  const stateOf = (kept: Kept): State =>
    kept.closed ? "closed" : !kept.reports ? "unanswered" : kept.sent < manifest.reports ? "queued" : "sent";
  const state = async () => stateOf((await read())!);

  /** The request for the next report: the one that was stored, or a new one, which is stored first. */
  const next = async ({ message, sent, reports }: Kept): Promise<Message> => {
    if (message && !(message.until! <= now())) return message;
    const made = await transport(url, id, reports!.slice(sent * REPORT_BYTES, (sent + 1) * REPORT_BYTES));
    await write((kept) => (kept.sent == sent ? { ...kept, message: made } : kept));
    return made;
  };

  /** Send the next report; return the seconds to wait if it has to be sent again. */
  const post = async (kept: Kept): Promise<number | void> => {
    const { url, type, body } = await next(kept);
    const headers: Record<string, string> = { "Content-Type": type };
    if (token) headers.Authorization = "Bearer " + token;
    const response = await fetch(url, { ...PRIVATE, method: "POST", body, headers });
    const { status } = response;
    if (status == 408 || status == 429 || status >= 500) return pauseOf(response);
    const closed = status == 410;
    must(closed || status == 202 || status == 409, `The report was refused with status ${status}. It is kept.`);
    await write(({ message: _, ...now }) => (closed ? { ...now, closed } : { ...now, sent: Math.max(now.sent, kept.sent + 1) }));
  };

  /** Send later: after what the collector asked for, longer after each failure, and by a factor that differs. */
  const again = (pause: number) => {
    const grown = Math.min(FIRST_PAUSE * 2 ** failures++, LONGEST_PAUSE);
    const wake = () => {
      waiting = false;
      quietly();
    };
    if (!waiting) later(Math.max(pause, grown) * (1 + systemRandom(1)[0] / 256), wake);
    waiting = true;
  };

  const sendAll = async (): Promise<State> => {
    let kept = (await read())!;
    const before = stateOf(kept);
    for (; stateOf(kept) == "queued"; kept = (await read())!) {
      const pause = await post(kept).catch((error) => {
        if (error instanceof HushcountError) throw error;
        return 0; // no connection
      });
      if (pause !== undefined) {
        again(pause);
        return before;
      }
      failures = 0;
    }
    const after = stateOf(kept);
    if (after != before) changed?.(after);
    return after;
  };
  /** One after the other, because an earlier call may have looked before the report was there. */
  const send = () => (sending = sending.catch(() => {}).then(sendAll)) as Promise<State>;
  const quietly = () => void send().catch(() => {});

  const report = async (...items: Item[]): Promise<State> => {
    must(now() < manifest.expires, "The campaign has ended.");
    await store((all) => {
      const kept = find(all)!;
      if (kept.reports) return;
      const spent = sum([manifest, ...all].map((each) => each.epsilon));
      const affordable = !budget || spent <= limit!;
      const reports = drawReports(manifest, affordable ? items : [], random);
      return { ...kept, reports, epsilon: affordable ? manifest.epsilon : "0" };
    });
    return send();
  };

  globalThis.addEventListener?.("online", quietly);
  if (earlier) quietly();
  return { url, manifest, state, report, send };
}
