/** Elements without a library. Text is always text, never markup. */
export type Child = Node | string | null | false;

export function make(tag: string, attributes: Record<string, string>, ...inside: Child[]): HTMLElement {
  return filled(document.createElement(tag), attributes, inside);
}

export function draw(tag: string, attributes: Record<string, string | number>, ...inside: Child[]): SVGElement {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, inside);
}

function filled<Kind extends Element>(made: Kind, attributes: Record<string, string | number>, inside: Child[]): Kind {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...inside.filter((child): child is Node | string => child !== null && child !== false));
  return made;
}

export function button(text: string, act: () => void, attributes: Record<string, string> = {}): HTMLElement {
  const made = make("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", act);
  return made;
}

/** A table with a caption that only screen readers say, scrolling sideways by itself where it must. */
export function table(caption: string, head: string[], rows: Child[][], kind = ""): HTMLElement {
  const titles = head.map((title) => make("th", { scope: "col" }, title));
  const body = rows.map(([first, ...rest]) =>
    make("tr", {}, make("th", { scope: "row" }, first), ...rest.map((cell) => make("td", {}, cell))));
  const made = make("table", { class: kind },
    make("caption", { class: "unseen" }, caption), make("thead", {}, make("tr", {}, ...titles)), make("tbody", {}, ...body));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, made);
}

/** A part of the page with a heading. */
export function part(title: string, ...inside: Child[]): HTMLElement {
  return make("section", {}, make("h2", {}, title), ...inside);
}
