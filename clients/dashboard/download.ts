/** Files made on the page. */
import type { Released } from "./service.js";

/** A cell of a CSV file; what a spreadsheet would take for a formula is marked as text. */
export function cell(value: unknown): string {
  const text = typeof value == "string" ? value : JSON.stringify(value);
  const safe = typeof value == "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export const csv = ({ rows }: Released): string =>
  ["item,count,lower,upper", ...rows.map((row) => [row.key, row.count, row.lower, row.upper].map(cell).join())].join("\r\n") + "\r\n";

export function save(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
