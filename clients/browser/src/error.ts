/** What this package throws: its message is a sentence for the developer, and never says anything about an item. */
export class HushcountError extends Error {
  override name = "HushcountError";
}

/** Throw unless something holds. */
export function must(holds: unknown, message: string): asserts holds {
  if (!holds) throw new HushcountError(message);
}
