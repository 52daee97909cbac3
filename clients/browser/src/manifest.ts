import { decimal, isEpsilon, sum } from "./decimal.js";
import { type Encoding, widthOf } from "./encoding.js";
import { must } from "./error.js";
import { brokenText, fromHex, type Octets, toHex, utf8 } from "./octets.js";
import { columnOf, type Question } from "./question.js";
import { probabilityOf } from "./response.js";

/** Questions of which every client answers one. */
export interface Group {
  epsilon: string;
  symbol_bits: number;
  probability: string;
  questions: Question[];
  shares: number[];
}

/** Who runs a campaign and what they promise. */
export interface Terms {
  collector: string;
  relay: string;
  retention_days: number;
  min_batch: number;
  central_epsilon: string;
  central_delta: string;
  promise: string;
}

/** Everything public about a campaign, checked. */
export interface Manifest {
  version: number;
  protocol: string;
  epsilon: string;
  users: number;
  encoding: Encoding;
  groups: Group[];
  seed: string;
  expires: number;
  parameters: Record<string, string | number>;
  reports: number;
  terms: Terms;
  id: string;
  /** The seed as bytes. */
  publicSeed: Octets;
  /** The bits of an encoded item. */
  width: number;
}

/** Whether a value keeps a rule; `inside` is the object of which it is a field. */
type Rule = (value: any, inside?: any) => unknown;

const MOST = 2 ** 53 - 1;
const PROTOCOLS =
  /^((tree_hist|bitstogram)(_paper)?|bitstogram_binary|(explicit|succinct)_hist|hashtogram)$/;

const text = (value: unknown): value is string => typeof value == "string" && !brokenText(value);
const like = (form: RegExp): Rule => (value) => text(value) && form.test(value);
const whole = (most: number, least = 1): Rule => (value) => Number.isInteger(value) && value >= least && value <= most;
const flag = whole(1, 0);
const distinct = (values: unknown[]) => new Set(values).size == values.length;

const list = (most: number, rule: Rule, least = 1): Rule => (value, inside) =>
  Array.isArray(value) && whole(most, least)(value.length) && value.every((each) => rule(each, inside));

/** An object with exactly these fields, which keeps a last rule. */
const fields = (rules: Record<string, Rule>, last: Rule = () => 1): Rule => (value, inside) =>
  `${Object.keys(value).sort()}` == `${Object.keys(rules).sort()}` &&
  Object.keys(rules).every((each) => rules[each](value[each], value)) &&
  last(value, inside);

/** An object of one of several kinds. */
const oneOf = (kinds: Record<string, Rule>): Rule => ({ kind, ...rest }, inside) =>
  Object.hasOwn(kinds, kind) && kinds[kind](rest, inside);

const bits = whole(1024);
const rows = whole(65536);
const word = whole(32);
const cut = { length: bits, truncate: flag };
const name: Rule = (value) => text(value) && [...value].length <= 1000;

const letters = fields({
  ...cut,
  alphabet: (value) => text(value) && whole(65535)([...value].length) && distinct([...value]),
});
const encodingRule = oneOf({
  words: letters,
  packed_words: letters,
  bytes: fields(cut),
  integers: fields({ bits }),
  categories: fields({ names: (value) => list(65536, text, 2)(value) && distinct(value) }),
});

/** A question about items of so many bits, inside a group. */
function questionRule(width: number): Rule {
  const bucket = { bucket_bits: word, rows, quotient_bits: whole(width - 1, 0) };
  const column: Rule = (value) => like(/^[1-9a-f][0-9a-f]*$/)(value) && columnOf(value) >> BigInt(width) == 0n;
  return oneOf({
    prefix: fields(
      { bits: whole(width), rows, cell_bits: word, signed: flag },
      (asked, group) => asked.cell_bits <= asked.bits && (!asked.signed || group.symbol_bits == 1),
    ),
    tagged_prefix: fields(
      { bits: whole(width - 1), tag_bits: word, rows, cell_bits: word },
      (asked) => asked.cell_bits < asked.tag_bits + asked.bits,
    ),
    chunk: fields(
      { ...bucket, start: whole(width, 0), bits },
      ({ quotient_bits, bucket_bits, start, bits }) =>
        quotient_bits <= bucket_bits && bucket_bits + bits <= 32 && start + bits <= width,
    ),
    code_bit: fields(
      { ...bucket, columns: list(4096, column) },
      ({ quotient_bits, bucket_bits, columns }, group) =>
        quotient_bits <= bucket_bits && Number.isInteger(Math.log2(columns.length)) && group.symbol_bits == 1,
    ),
  });
}

const groupRule = (width: number) =>
  fields(
    {
      epsilon: isEpsilon,
      symbol_bits: whole(10),
      probability: text,
      questions: list(4096, questionRule(width)),
      shares: list(4096, whole(2 ** 32)),
    },
    ({ epsilon, symbol_bits, probability, questions, shares }) =>
      shares.length == questions.length &&
      shares.reduce((a: number, b: number) => a + b) == 2 ** 32 &&
      probability == probabilityOf(epsilon, symbol_bits),
  );

const termsRule = fields(
  {
    collector: name,
    relay: name,
    promise: name,
    retention_days: whole(36500, 0),
    min_batch: whole(2 ** 32),
    central_epsilon: (value) => value === "" || isEpsilon(value),
    central_delta: like(/^(0\.\d{0,29}[1-9])?$/),
  },
  ({ central_epsilon, central_delta, relay, promise, min_batch }) =>
    central_epsilon ? central_delta && relay && promise && min_batch > 1 : !central_delta && !promise,
);

const manifestRule = fields(
  {
    version: whole(2, 2),
    protocol: like(PROTOCOLS),
    epsilon: isEpsilon,
    users: whole(MOST),
    encoding: (value) => encodingRule(value) && bits(widthOf(value)),
    groups: list(4, (group, { encoding }) => encodingRule(encoding) && groupRule(widthOf(encoding))(group)),
    hash: like(/^blake2s-multiply-shift$/),
    seed: like(/^[0-9a-f]{64}$/),
    expires: whole(253402300799),
    parameters: (value) =>
      !Array.isArray(value) &&
      Object.entries(value).every(([key, each]) => /^[a-z][a-z0-9_]*$/.test(key) && (text(each) || whole(MOST, -MOST)(each))),
    reports: whole(16),
    terms: termsRule,
  },
  ({ epsilon, groups, reports, terms }) =>
    sum(groups.map((group: Group) => group.epsilon)) * BigInt(reports) <= decimal(epsilon)! &&
    groups.reduce((total: number, group: Group) => total + group.symbol_bits, 0) <= 16 &&
    !(terms.central_epsilon && groups.length * reports > 1),
);

/** JSON with sorted names and no spaces: the form that is hashed. */
export function canonical(value: any): string {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (!value || typeof value != "object") return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)}}`;
}

/** How many names the objects of a JSON text have together; a name that occurs twice counts twice. */
const namesIn = (json: string): number => json.replace(/"(\\.|[^"\\])*"/g, "").split(":").length;

/** Read and check a manifest; throw if it breaks any rule of the wire, or if its id is not that of its fields. */
export async function readManifest(json: string): Promise<Manifest> {
  must(crypto.subtle, "The page needs https.");
  let valid: unknown;
  let read: any;
  try {
    read = JSON.parse(json);
    const { id, ...rest } = read;
    const digest = await crypto.subtle.digest("SHA-256", utf8(canonical(rest)));
    valid = toHex(digest) === id && namesIn(json) == namesIn(canonical(read)) && manifestRule(rest);
  } catch {}
  must(valid, "The manifest is damaged, edited, or not of version 2.");
  return { ...read, publicSeed: fromHex(read.seed), width: widthOf(read.encoding) };
}
