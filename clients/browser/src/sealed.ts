/** Reports sealed to the collector's key, so that a relay can pass them on and not read them. */
import type { Transport } from "./campaign.js";
import { must } from "./error.js";
import { seal } from "./hpke.js";
import { fromHex, type Random, systemRandom } from "./octets.js";

/** A public key of a collector, as `GET /v1/keys` gives it. */
export interface CollectorKey {
  id: string;
  public: string;
  suite: string;
  expires: number;
}

export interface SealedOptions {
  /** The collector's keys, if the page has them; by default they are fetched from the collector. */
  keys?: CollectorKey[];
  random?: Random;
  now?: () => number;
}

const SUITE = "X25519-HKDF-SHA256/HKDF-SHA256/ChaCha20-Poly1305";
const NONE = new Uint8Array(0);

async function fetched(campaign: string): Promise<CollectorKey[]> {
  const response = await fetch(campaign.replace(/\/campaigns\/[^/]*$/, "/keys"), { credentials: "omit" });
  must(response.ok, `The collector does not give its keys (status ${response.status}).`);
  return response.json();
}

/**
 * Send reports through a relay.
 *
 * `relay` is the address of the relay, such as `https://relay.example`. Give the result as `transport` to `connect`.
 */
export function sealed(relay: string, { keys, random = systemRandom, now = () => Date.now() / 1000 }: SealedOptions = {}): Transport {
  return async (campaign, id, report) => {
    const known = (keys ?? (await fetched(campaign))).filter((key) => key.suite == SUITE && key.expires > now());
    const key = known.sort((a, b) => b.expires - a.expires)[0];
    must(key, "The collector has no key that this client can seal to.");
    const body = seal(fromHex(key.public), report, NONE, fromHex(id), random(32));
    return {
      url: `${relay.replace(/\/+$/, "")}/v1/campaigns/${id}/sealed`,
      type: "application/vnd.hushcount.sealed",
      body: Uint8Array.of(...fromHex(key.id), ...body),
      until: key.expires,
    };
  };
}
