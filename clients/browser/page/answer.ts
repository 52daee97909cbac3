/**
 * The page of examples/answer.html.
 *
 * What follows # in its address, which browsers send to nobody, may name the campaign, and if needed the relay and the
 * token of a user: answer.html#campaign=ADDRESS&relay=ADDRESS&token=TOKEN
 */
import { type Campaign, connect, consent, type Encoding, HushcountError, type Item, type State } from "../src/index.js";
import { sealed } from "../src/sealed.js";

const SAID: Record<State, string> = {
  unanswered: "",
  queued: "Your answer is stored here. It is sent as soon as the collector can be reached.",
  sent: "Thank you. Your answer has arrived; this browser does not answer again.",
  closed: "The campaign ended before your answer could be sent.",
};

const find = <Kind extends HTMLElement>(id: string): Kind => document.getElementById(id) as Kind;

function say(text: string, alarm = false): void {
  find("said").textContent = text;
  find("said").classList.toggle("alarm", alarm);
}

function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag, fields: Partial<HTMLElementTagNameMap[Tag]>, ...inside: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = Object.assign(document.createElement(tag), fields);
  made.append(...inside);
  return made;
}

/** Show the field for an answer, and return what reads it. */
function ask(encoding: Encoding, into: HTMLElement): () => Item {
  if (encoding.kind == "categories" && encoding.names.length <= 20) {
    const choices = encoding.names.map((name, place) =>
      element("label", {}, element("input", { type: "radio", name: "item", value: String(place), required: true }), " " + (name || "(nothing)")));
    into.replaceChildren(element("fieldset", {}, element("legend", { textContent: "Your answer" }), ...choices));
    return () => {
      const chosen = into.querySelector<HTMLInputElement>("input:checked");
      return chosen && encoding.names[Number(chosen.value)];
    };
  }
  const field = element("input", { id: "item", type: "text", required: true, autocomplete: "off" });
  field.setAttribute("aria-describedby", "form");
  const form = element("p", { id: "form", className: "soft", textContent: formOf(encoding) });
  into.replaceChildren(element("label", { htmlFor: "item", textContent: "Your answer" }), field, form);
  if (encoding.kind != "integers") return () => field.value;
  field.inputMode = "numeric";
  return () => (/^\d+$/.test(field.value.trim()) ? BigInt(field.value.trim()) : undefined);
}

function formOf(encoding: Encoding): string {
  if (encoding.kind == "integers") return `A whole number from 0 to ${(1n << BigInt(encoding.bits)) - 1n}.`;
  if (encoding.kind == "categories") return "One of the names that the campaign lists.";
  const most = `At most ${encoding.length} ${encoding.kind == "bytes" ? "bytes of text" : "letters"}`;
  const cut = encoding.truncate ? "; what is longer is cut" : "";
  if (encoding.kind == "bytes") return `${most}${cut}.`;
  const letters = encoding.alphabet == "abcdefghijklmnopqrstuvwxyz" ? "a to z" : encoding.alphabet;
  return `${most}${cut}, out of these: ${letters}.`;
}

async function show(address: string, relay: string | null, token: string | null): Promise<void> {
  say("");
  find("campaign").hidden = true;
  const transport = relay ? sealed(relay) : undefined;
  const campaign = await connect(address, { changed: tell, transport, token: token ?? undefined });
  const read = ask(campaign.manifest.encoding, find("question"));
  find("consent").replaceChildren(...consent(campaign.manifest).map((sentence) => element("li", { textContent: sentence })));
  find("where").hidden = true;
  find("campaign").hidden = false;
  find("answer").onsubmit = (event) => {
    event.preventDefault();
    void attempt(async () => tell(await send(campaign, read())));
  };
  find("nothing").onclick = () => void attempt(async () => tell(await send(campaign)));
  tell(await campaign.state());
}

async function send(campaign: Campaign, ...items: Item[]): Promise<State> {
  document.querySelectorAll("button").forEach((button) => (button.disabled = true));
  return campaign.report(...items);
}

function tell(state: State): void {
  find("answer").hidden = state != "unanswered";
  document.body.dataset.state = state;
  say(SAID[state]);
}

/** Do something, and say what went wrong; then the form may be used again. */
async function attempt(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    say(error instanceof HushcountError ? error.message : "Something went wrong, and nothing was sent.", true);
  }
  document.querySelectorAll("button").forEach((button) => (button.disabled = false));
}

find<HTMLFormElement>("where").onsubmit = (event) => {
  event.preventDefault();
  location.hash = String(new URLSearchParams({ campaign: find<HTMLInputElement>("address").value }));
};
const begin = () => {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const address = wanted.get("campaign");
  if (address) void attempt(() => show(address, wanted.get("relay"), wanted.get("token")));
};
addEventListener("hashchange", begin);
begin();
