/** A source of secure random bytes. */
export type Random = (count: number) => Uint8Array;

/** Bytes of which no other thread changes the buffer, as fetch and the storage want them. */
export type Octets = Uint8Array<ArrayBuffer>;

export const systemRandom: Random = (count) => crypto.getRandomValues(new Uint8Array(count));

export const utf8 = (text: string): Octets => new TextEncoder().encode(text);

/** Half a surrogate pair, which UTF-8 cannot express. */
export const brokenText = (text: string): boolean => /\p{Cs}/u.test(text);

export const toHex = (bytes: ArrayBuffer): string =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");

export const fromHex = (digits: string): Octets => Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));

export const view = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

/** The low `bits` bits of a number. */
export const low = (value: bigint, bits: number): bigint => BigInt.asUintN(bits, value);

/** The number of one bits, modulo 2. */
export const parity = (value: bigint): number => (value.toString(2).split("1").length - 1) & 1;
