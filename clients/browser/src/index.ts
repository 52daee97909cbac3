/** Answers a campaign of hushcount from a browser. The report is randomised before it leaves the device. */
export { type Campaign, connect, type Options, type State, type Transport } from "./campaign.js";
export { consent } from "./consent.js";
export type { Encoding, Item } from "./encoding.js";
export { HushcountError } from "./error.js";
export { type Group, type Manifest, readManifest, type Terms } from "./manifest.js";
export type { Random } from "./octets.js";
export type { Kept, Message, Store } from "./store.js";
