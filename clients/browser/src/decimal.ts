const PLACES = 18;
const FORM = /^(0|[1-9]\d?)(\.\d{0,17}[1-9])?$/;

/** A decimal of the manifest as a whole number of 10^-18, or undefined if it is not written in its one form. */
export function decimal(text: unknown): bigint | undefined {
  if (typeof text != "string" || !FORM.test(text)) return undefined;
  const [whole, places = ""] = text.split(".");
  return BigInt(whole + places.padEnd(PLACES, "0"));
}

/** An epsilon: above 0 and at most 20. */
export function isEpsilon(text: unknown): text is string {
  const value = decimal(text);
  return value! > 0n && value! <= 20n * 10n ** 18n;
}

export const sum = (decimals: string[]): bigint => decimals.reduce((total, each) => total + decimal(each)!, 0n);
