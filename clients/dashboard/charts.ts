/** Two pictures: reports over time, and the interval of a count. Tables beside them say the same in words. */
import { draw } from "./dom.js";
import { rough, whole } from "./words.js";

export interface Bar {
  label: string;
  count: number;
}

const HOUR = 3600e3;
const MOST_HOURS = 72;

/** Reports by hour, or by day if there are many hours; hours without any are there too. */
export function series(hours: { hour: string; reports: number }[]): { unit: "hour" | "day"; bars: Bar[] } {
  const found = new Map<string, number>();
  const times = hours.map(({ hour }) => Date.parse(hour));
  const first = Math.min(...times);
  const daily = Math.max(...times) - first >= MOST_HOURS * HOUR;
  const label = (time: number) => new Date(time).toISOString().slice(0, daily ? 10 : 13).replace("T", " ") + (daily ? "" : ":00");
  for (let time = first; time <= Math.max(...times); time += HOUR) found.set(label(time), found.get(label(time)) ?? 0);
  for (const { hour, reports } of hours) {
    const name = label(Date.parse(hour));
    found.set(name, (found.get(name) ?? 0) + reports);
  }
  return { unit: daily ? "day" : "hour", bars: [...found].map(([name, count]) => ({ label: name, count })) };
}

/** The smallest round number that is not below a count: 1, 2 or 5 with zeros. */
export function roundUp(count: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(count, 1)));
  return power * [1, 2, 5, 10].find((step) => step * power >= count)!;
}

export function history(bars: Bar[], unit: string): SVGElement {
  const [wide, high, left, bottom] = [innerWidth < 600 ? 360 : 720, 200, 56, 28]; // letters stay readable on a phone
  const top = roundUp(Math.max(...bars.map((bar) => bar.count)));
  const step = (wide - left) / Math.max(bars.length, 12);
  const tall = (count: number) => (count / top) * (high - bottom - 14);
  const ends = [0, bars.length - 1].filter((place, index, all) => all.indexOf(place) == index);
  return draw("svg", { viewBox: `0 0 ${wide} ${high}`, class: "history", role: "img", "aria-label": `Reports by ${unit}; the table below says the same.` },
    ...[0, top / 2, top].flatMap((count) => {
      const y = high - bottom - tall(count);
      return [
        draw("line", { x1: left, x2: wide, y1: y, y2: y, class: "grid" }),
        draw("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, top == 1 && count == 0.5 ? "" : rough(count)),
      ];
    }),
    ...bars.map((bar, place) =>
      draw("rect", { x: left + place * step + step * 0.1, width: step * 0.8, y: high - bottom - tall(bar.count), height: tall(bar.count), class: "bar" },
        draw("title", {}, `${bar.label}: ${whole(bar.count)}`))),
    ...ends.map((place) =>
      draw("text", { x: place && bars.length > 11 ? wide : left + place * step, y: high - 6, "text-anchor": place && bars.length > 11 ? "end" : "start" },
        place && bars.length < 5 ? "" : bars[place].label)));
}

/** The interval of a count as a bar up to the largest upper end, with a mark at the count. */
export function interval(row: { count: number; lower: number; upper: number }, most: number): SVGElement {
  const at = (count: number) => (200 * Math.min(Math.max(count, 0), most)) / most;
  return draw("svg", { viewBox: "0 0 200 16", preserveAspectRatio: "none", class: "interval", "aria-hidden": "true" },
    draw("rect", { x: 0, y: 5, width: 200, height: 6, class: "base" }),
    draw("rect", { x: 0, y: 5, width: at(row.count), height: 6, class: "until" }),
    draw("rect", { x: at(row.lower), y: 2, width: Math.max(at(row.upper) - at(row.lower), 1), height: 12, class: "range" }),
    draw("rect", { x: Math.max(at(row.count) - 1.5, 0), y: 0, width: 3, height: 16, class: "mark" }));
}
