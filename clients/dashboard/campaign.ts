/** The page of one campaign. */
import { type Bar, history, interval, series } from "./charts.js";
import { button, type Child, make, part, table } from "./dom.js";
import { csv, save } from "./download.js";
import { check, type Manifest, type Released, type Row, type Status } from "./service.js";
import { centralPromise, counted, detectable, localPromise, moment, rough, verdict, whole } from "./words.js";

const SHOWN = 50;

export interface Known {
  id: string;
  manifest: Manifest;
  /** Only for the administrator. */
  status: Status | null;
  /** Null until something was released. */
  released: Released | null;
}

export function campaignPage({ id, manifest, status, released }: Known): Child[] {
  return [
    make("p", { class: "kicker" }, status ? `Campaign, ${status.state}` : "Campaign"),
    make("h1", {}, make("code", {}, id.slice(0, 16)), "…"),
    make("p", { class: "soft" }, `Collected by ${manifest.terms.collector || "somebody who is not named"}. Items: ${itemsOf(manifest)}.`),
    status && facts(status),
    part("What is promised", make("h3", {}, "To every user"), make("p", {}, localPromise(manifest)),
      make("h3", {}, "Through the relay"), make("p", {}, centralPromise(manifest))),
    status && arrivals(status),
    status && part("What can be found", make("p", {}, detectable(status))),
    findings(id, released, Boolean(status)),
    status && poisoning(id, status),
  ];
}

function itemsOf({ encoding }: Manifest): string {
  const names: Record<string, string> = {
    words: "words", packed_words: "words", bytes: "texts", integers: "whole numbers", categories: "names of a list",
  };
  return names[encoding.kind] ?? encoding.kind;
}

function facts(status: Status): HTMLElement {
  const { now, planned } = status.least_detectable;
  const shown: [string, string][] = [
    [whole(status.reports), `reports of ${counted(status.users, "planned user")}`],
    [now === null || now > status.reports ? "–" : whole(Math.ceil(now)), "users are needed to find an item now"],
    [planned === null ? "–" : whole(Math.ceil(planned)), "with all planned users"],
    [moment(status.expires), "the campaign ends"],
    [moment(status.deleted_after), "reports are deleted"],
  ];
  return make("dl", { class: "strip" }, ...shown.map(([value, name]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

function arrivals({ reports_by_hour: hours, dropped }: Status): HTMLElement {
  if (!hours.length) return part("Reports over time", make("p", {}, "No report has come yet."));
  const { unit, bars } = series(hours);
  const rows = bars.map((bar: Bar) => [bar.label, whole(bar.count)]);
  return part("Reports over time",
    history(bars, unit),
    make("details", {}, make("summary", {}, "The same as a table"), table(`Reports by ${unit}, times in UTC`, [unit, "reports"], rows, "small")),
    dropped > 0 && make("p", { class: "soft" }, `${counted(dropped, "sealed report")} did not open and are not counted.`));
}

function findings(id: string, released: Released | null, admin: boolean): HTMLElement {
  if (!released) {
    const how = admin
      ? make("p", {}, "Publish them with ", make("code", {}, `hushcount collect release ${id}`), ". From then on everybody who knows the campaign can see them here.")
      : make("p", {}, "Its administrator decides when.");
    return part("Heavy hitters", make("p", {}, "Nothing of this campaign was released yet."), how);
  }
  const most = Math.max(...released.rows.map((row) => row.upper), 1);
  const line = (row: Row): Child[] => [
    make("bdi", {}, typeof row.key == "string" ? row.key || "(empty)" : JSON.stringify(row.key)),
    whole(row.count),
    `${whole(row.lower)} to ${whole(row.upper)}`,
    interval(row, most),
  ];
  const caption = "Heavy hitters with intervals";
  const head = ["item", "users, about", `between (confidence ${released.confidence})`, `0 to ${whole(most)}`];
  const rows = (count: number) => table(caption, head, released.rows.slice(0, count).map(line), "rows");
  const place = make("div", {}, released.rows.length ? rows(SHOWN) : make("p", {}, "No item reached the smallest count that can be found."));
  const more = released.rows.length > SHOWN && button(`Show all ${whole(released.rows.length)}`, () => {
    place.replaceChildren(rows(released.rows.length));
    place.querySelector<HTMLElement>(".scroll")!.focus();
  });
  const name = `hushcount-${id.slice(0, 16)}`;
  return part("Heavy hitters", place, more,
    make("ul", { class: "soft" }, ...(released.accuracy?.sentences ?? []).map((sentence) => make("li", {}, sentence))),
    make("p", {}, button("Download as CSV", () => save(`${name}.csv`, "text/csv", csv(released))), " ",
      button("Download as JSON", () => save(`${name}.json`, "application/json", JSON.stringify(released)))));
}

/** What limits how many reports one sender can send. */
function limit({ access, by_relay }: Status): string {
  if (by_relay) return "The relay's tokens, if it asks for them, limit each user to one report.";
  if (access === "token") return "Tokens limit each user to one report.";
  return "This campaign asks for no tokens, so nothing limits how many reports one sender sends.";
}

function poisoning(id: string, status: Status): HTMLElement {
  const { reports, poisoning: { one_fake_report_moves_an_estimate_by: each } } = status;
  const rows = [1, 10, 100, 1000].map((fakes) => [whole(fakes), `${rough(fakes * each)} users`]);
  const result = make("p", { role: "status", id: "verdict" });
  const look = async () => {
    result.textContent = "Reading all reports …";
    result.textContent = await check(id).then(verdict, (error: Error) => error.message);
  };
  return part("Fake reports",
    make("p", {}, `Whoever sends fake reports for one item raises its estimate, each by at most ${rough(each)} users. ${limit(status)}`),
    table("What fake reports can do", ["fake reports", "raise an estimate by at most"], rows, "small"),
    reports > 0 ? make("p", {}, button("Check the reports", () => void look(), { id: "check" })) : null,
    result);
}
