import { hash, SHARED, wordsOf } from "./hash.js";
import type { Manifest } from "./manifest.js";
import { low, parity } from "./octets.js";

/** What a group asks: a question of one of the kinds of the wire. */
export type Question =
  | { kind: "prefix"; bits: number; rows: number; cell_bits: number; signed: number }
  | { kind: "tagged_prefix"; bits: number; tag_bits: number; rows: number; cell_bits: number }
  | { kind: "chunk"; bucket_bits: number; start: number; bits: number; rows: number; quotient_bits: number }
  | { kind: "code_bit"; bucket_bits: number; columns: string[]; rows: number; quotient_bits: number };

/** What a nonce is asked in a group. All of it is public. */
export interface Assignment {
  question: number;
  row: number;
  masks: number[];
  extra: number;
}

export const cellBits = (question: Question): number =>
  question.kind == "chunk" ? question.bucket_bits + question.bits
  : question.kind == "code_bit" ? question.bucket_bits
  : question.cell_bits;

export const columnOf = (digits: string): bigint => BigInt("0x" + digits);

/** word * size // 2^32, for sizes up to 2^21. */
const share = (word: number, size: number): number => Math.floor((word * size) / 2 ** 32);

export function assigned(manifest: Manifest, nonce: Uint8Array, number: number): Assignment {
  const group = manifest.groups[number];
  const words = wordsOf(manifest.publicSeed, nonce, number);
  let question = 0;
  for (let total = group.shares[0]; total <= words[0]; total += group.shares[question]) question++;
  const asked = group.questions[question];
  const mask = 2 ** cellBits(asked);
  const masks = words.slice(2, 2 + group.symbol_bits).map((word) => word % mask);
  return { question, row: share(words[1], asked.rows), masks, extra: words[15] };
}

/** The cell and the flip of an encoded item. */
export function cellOf(manifest: Manifest, value: bigint, number: number, asked: Assignment): [bigint, number] {
  const { publicSeed: seed, width } = manifest;
  const question = manifest.groups[number].questions[asked.question];
  const where = [number, asked.question, asked.row];
  const bucket = (bits: number, quotient: number) => {
    const rest = width - quotient;
    return hash(seed, "bucket", [number, SHARED, asked.row], low(value, rest), rest, bits) ^ (value >> BigInt(rest));
  };
  if (question.kind == "chunk") {
    const { bits, start, bucket_bits, quotient_bits } = question;
    const chunk = low(value >> BigInt(width - start - bits), bits);
    return [(bucket(bucket_bits, quotient_bits) << BigInt(bits)) | chunk, 0];
  }
  if (question.kind == "code_bit") {
    const { columns, bucket_bits, quotient_bits } = question;
    const column = columnOf(columns[share(asked.extra, columns.length)]);
    return [bucket(bucket_bits, quotient_bits), parity(column & value)];
  }
  const { bits, cell_bits } = question;
  let key = value >> BigInt(width - bits);
  if (question.kind == "tagged_prefix") {
    key |= hash(seed, "bucket", [number, SHARED, 0], value, width, question.tag_bits) << BigInt(bits);
    return [hash(seed, "cell", where, key, question.tag_bits + bits, cell_bits), 0];
  }
  const flip = question.signed ? Number(hash(seed, "sign", where, key, bits, 1)) : 0;
  return [cell_bits == bits ? key : hash(seed, "cell", where, key, bits, cell_bits), flip];
}

/** The truthful symbol of an encoded item. */
export function truthful(manifest: Manifest, value: bigint, number: number, asked: Assignment): number {
  const [cell, flip] = cellOf(manifest, value, number, asked);
  return asked.masks.reduce((symbol, mask, bit) => symbol ^ (parity(BigInt(mask) & cell) << bit), flip);
}
