/** The dashboard of a collector: a list of campaigns, and a page for each at #ID. */
import { campaignPage, type Known } from "./campaign.js";
import { button, type Child, make, table } from "./dom.js";
import { type Brief, campaigns, manifest, Refused, released, status, token } from "./service.js";
import { counted, moment, whole } from "./words.js";

const EVERY = 15_000;
const main = document.querySelector("main")!;
const bar = document.getElementById("bar")!;
const said = document.getElementById("said")!;
let shown = "";

const wanted = (): string => location.hash.slice(1);

/** Show a page and put the focus on its heading; the same page again leaves everything in its place. */
function show(title: string, key: string, ...inside: Child[]): void {
  if (key == shown) return;
  const fresh = shown.split("\n")[0] != key.split("\n")[0];
  const held = document.activeElement?.id;
  shown = key;
  main.replaceChildren(...inside.filter((child): child is Node => Boolean(child)));
  bar.replaceChildren(...links());
  document.title = `${title} · hushcount`;
  const heading = main.querySelector<HTMLElement>("h1")!;
  heading.tabIndex = -1;
  if (fresh) heading.focus();
  else if (held) document.getElementById(held)?.focus();
}

function links(): Node[] {
  const all = wanted() ? [make("a", { href: "#" }, token.get() ? "All campaigns" : "Start")] : [];
  if (!token.get()) return all;
  return [...all, button("Read again", () => void refresh(true), { id: "again" }), button("Forget the token", () => {
    token.forget();
    void refresh();
  }, { id: "forget" })];
}

function front(): void {
  const secret = make("input", { id: "token", type: "password", autocomplete: "off", required: "", "aria-describedby": "kept" }) as HTMLInputElement;
  const enter = make("form", {}, make("label", { for: "token" }, "The administrator's token"), secret,
    make("p", { class: "soft", id: "kept" }, "It is kept in this tab only, until the tab is closed."),
    make("button", { type: "submit" }, "Show the campaigns"));
  enter.addEventListener("submit", (event) => {
    event.preventDefault();
    void attempt(async () => {
      await campaigns(secret.value.trim());
      token.set(secret.value.trim());
      await refresh();
    });
  });
  const id = make("input", { id: "id", type: "text", autocomplete: "off", required: "", pattern: "\\s*[0-9a-f]{64}\\s*", title: "64 digits from 0 to f" }) as HTMLInputElement;
  const look = make("form", {}, make("label", { for: "id" }, "The id of a campaign"), id,
    make("button", { type: "submit" }, "Show what was released"));
  look.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = id.value.trim();
  });
  show("Collector", "front", make("h1", {}, "Collector"), make("p", {}, "This service collects reports that were randomised on the devices of those who sent them."),
    make("div", { class: "two" }, enter, look));
}

function list(found: Brief[]): void {
  const rows = found.map((each) => [
    make("a", { href: `#${each.id}`, id: `to-${each.id.slice(0, 16)}` }, make("code", {}, each.id.slice(0, 16))),
    each.state, `${whole(each.reports)} of ${whole(each.users)}`, each.released ? "yes" : "no", moment(each.expires),
  ]);
  const head = ["campaign", "state", "reports", "released", "ends"];
  show("Campaigns", `list\n${JSON.stringify(found)}`, make("h1", {}, "Campaigns"),
    make("p", { class: "soft" }, found.length ? counted(found.length, "campaign") + "." : "There is no campaign yet. `hushcount collect new` makes one."),
    found.length ? table("Campaigns", head, rows, "rows") : null);
}

/** Undefined where the collector says that it is not for whoever asks. */
const permitted = <Answer>(answer: Promise<Answer>): Promise<Answer | null> =>
  answer.catch((error) => {
    if (error instanceof Refused && [401, 403, 409].includes(error.status)) return null;
    throw error;
  });

async function campaign(id: string): Promise<void> {
  const own = token.get() ? await status(id) : null;
  const result = own && !own.released ? null : await permitted(released(id));
  const known: Known = { id, manifest: await manifest(id), status: own, released: result };
  if (wanted() == id) show(`Campaign ${id.slice(0, 8)}`, `${id}\n${JSON.stringify(known)}`, ...campaignPage(known));
}

async function attempt(act: () => Promise<void>): Promise<void> {
  try {
    await act();
    said.textContent = "";
  } catch (error) {
    if (error instanceof Refused && error.status == 401) {
      token.forget();
      said.textContent = "The collector does not know this token.";
      if (shown.startsWith("list")) front();
    } else {
      said.textContent = error instanceof Refused ? error.message : "Something went wrong on this page.";
    }
  }
}

async function refresh(aloud = false): Promise<void> {
  await attempt(async () => {
    if (wanted()) await campaign(wanted());
    else if (token.get()) list(await campaigns());
    else front();
  });
  if (aloud && !said.textContent) said.textContent = "Read again.";
}

addEventListener("hashchange", () => void refresh());
setInterval(() => document.visibilityState == "visible" && token.get() && void refresh(), EVERY);
void refresh().then(() => {
  if (!main.querySelector("h1")) show("Collector", "nothing", make("h1", {}, "Nothing to show"), make("p", {}, make("a", { href: "#" }, "Start")));
});
