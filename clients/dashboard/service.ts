/** What the collector answers. Nothing else is asked for, from nobody else. */
export interface Brief {
  id: string;
  state: string;
  access: string;
  reports: number;
  users: number;
  protocol: string;
  expires: string;
  released: boolean;
}

export interface Status extends Brief {
  batches: number;
  dropped: number;
  by_relay: boolean;
  deleted_after: string;
  reports_by_hour: { hour: string; reports: number }[];
  least_detectable: { now: number | null; planned: number | null };
  poisoning: { one_fake_report_moves_an_estimate_by: number };
}

export interface Checked {
  reports: number;
  deviations: Record<string, number>;
  suspicious: string[];
}

export interface Manifest {
  epsilon: string;
  users: number;
  reports: number;
  encoding: { kind: string };
  terms: Record<"collector" | "relay" | "promise" | "central_epsilon" | "central_delta", string> & { min_batch: number };
}

export interface Row {
  key: unknown;
  count: number;
  lower: number;
  upper: number;
}

export interface Released {
  rows: Row[];
  confidence: string;
  accuracy?: { sentences?: string[] };
}

/** The collector refused or could not be reached; the message is for the reader of the page. */
export class Refused extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

const TOKEN = "hushcount administrator";

/** The administrator's token, which this tab forgets when it is closed. */
export const token = {
  get: (): string => sessionStorage.getItem(TOKEN) ?? "",
  set: (value: string): void => sessionStorage.setItem(TOKEN, value),
  forget: (): void => sessionStorage.removeItem(TOKEN),
};

async function ask<Answer>(path: string, as = token.get()): Promise<Answer> {
  const headers: Record<string, string> = as ? { Authorization: `Bearer ${as}` } : {};
  const response = await fetch(`v1/campaigns${path}`, { headers, cache: "no-store" }).catch(() => undefined);
  if (!response) throw new Refused(0, "The collector cannot be reached.");
  if (response.ok) return response.json();
  const problem = await response.json().catch(() => ({}));
  throw new Refused(response.status, String(problem.title ?? `The collector answered with status ${response.status}.`));
}

export const campaigns = async (as?: string): Promise<Brief[]> => (await ask<{ campaigns: Brief[] }>("", as)).campaigns;
export const status = (id: string): Promise<Status> => ask(`/${id}`);
export const manifest = (id: string): Promise<Manifest> => ask(`/${id}/manifest`, "");
export const check = (id: string): Promise<Checked> => ask(`/${id}/check`);
/** What everybody may see; without a token, because the administrator would get what is not released yet. */
export const released = (id: string): Promise<Released> => ask(`/${id}/heavy-hitters`, "");
