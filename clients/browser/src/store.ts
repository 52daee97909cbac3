import type { Octets } from "./octets.js";

/** A request that carries one report. */
export interface Message {
  url: string;
  type: string;
  body: Octets;
  /** Seconds since 1970 after which it must be made anew. */
  until?: number;
}

/** What this browser remembers of a campaign. */
export interface Kept {
  id: string;
  manifest: string;
  /** The reports, once they are drawn; what they spent; how many of them have arrived. */
  reports?: Octets;
  epsilon: string;
  sent: number;
  closed?: boolean;
  /** The next request, if sending needs one that is not the report itself. */
  message?: Message;
}

/**
 * Change what is kept, in one step: nothing else reads or writes in between, in this tab or another.
 *
 * `change` gets all campaigns and returns the one to write, or nothing. The promise resolves, with what `change`
 * returned, once it is on disk.
 */
export type Store = (change: (kept: Kept[]) => Kept | void) => Promise<Kept | void>;

/** The database of this origin in the browser. */
export const browserStore: Store = (change) =>
  new Promise((resolve, reject) => {
    const opening = indexedDB.open("hushcount", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("campaigns", { keyPath: "id" });
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const database = opening.result;
      const step = database.transaction("campaigns", "readwrite", { durability: "strict" });
      const campaigns = step.objectStore("campaigns");
      const all = campaigns.getAll();
      let result: Kept | void;
      all.onsuccess = () => {
        if ((result = change(all.result))) campaigns.put(result);
      };
      step.oncomplete = () => (database.close(), resolve(result));
      step.onabort = () => (database.close(), reject(step.error));
    };
  });
