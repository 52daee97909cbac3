"use strict";
// Sorts, searches and turns the pages of the table, and walks in the tree. Without it the page is complete
// but still: every text and picture is in the file.
(() => {
  const byId = (name) => document.getElementById(name);
  const say = (name, words) => { byId(name).textContent = words; };
  const shown = (number) => number.toLocaleString("en-GB");
  const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;
  const hex = (char) => {
    const code = char.codePointAt(0);
    if (char === "\n") return "\\n";
    if (char === "\r") return "\\r";
    if (char === "\t") return "\\t";
    if (code < 0x100) return "\\x" + code.toString(16).padStart(2, "0");
    return code < 0x10000 ? "\\u" + code.toString(16).padStart(4, "0") : "\\U" + code.toString(16).padStart(8, "0");
  };
  const visible = (text) => text.replace(UNSEEN, hex);

  function tableOf(table, rows) {
    const PAGE = 1000;
    const headings = [...table.tHead.rows[0].cells].slice(1);
    const columns = headings.map((cell) => cell.dataset);
    const { value, low, high, bar, longest } = table.dataset;
    const pattern = table.tBodies[0].rows[0].cloneNode(true);
    const texts = columns.filter((column) => column.kind === "key" || column.kind === "node");
    let order = rows.map((_, index) => index);
    let found = order;
    let first = 0;

    const place = (number) => {
      const share = (Math.log10(Math.max(number, 1e-9)) - low) / (high - low);
      return bar * Math.min(Math.max(share, 0), 1);
    };
    // The release states numbers that some programs would round as texts.
    const number = (it, digits = 0) => it === null || it === undefined ? ""
      : Number(it).toLocaleString("en-GB", { maximumFractionDigits: digits });
    const unpadded = (label) => {
      let name = label;
      for (let end; (end = name.match(/^(.+?)(?: > |[/.T-])·$/s)); ) name = end[1];
      return name;
    };

    function fillKey(cell, it, node) {
      const letters = [...(node ? unpadded(String(it)) : String(it))];
      const name = cell.firstElementChild;
      const odd = it === null ? "no value" : letters.length ? "" : "empty text";
      name.className = odd ? "odd" : "";
      name.textContent = odd || visible(letters.length <= longest ? letters.join("")
        : letters.slice(0, longest).join("") + "… (" + shown(letters.length) + " characters)");
    }
    function fillInterval(cell, row) {
      const [, range, mark] = cell.querySelectorAll("rect");
      const left = place(row.lower);
      const right = row.upper === null ? Number(bar) : place(row.upper);
      range.setAttribute("x", left);
      range.setAttribute("width", Math.max(right - left, 1));
      mark.setAttribute("x", Math.min(Math.max(place(row[value]) - 1.5, 0), bar - 3));
      const near = row.near_threshold ? " *" : "";
      cell.lastElementChild.textContent = (row.upper === null ? number(row.lower) + " or more"
        : number(row.lower) + " to " + number(row.upper)) + near;
    }
    function line(index) {
      const row = rows[index];
      const made = pattern.cloneNode(true);
      made.cells[0].textContent = shown(index + 1);
      columns.forEach(({ field, kind }, place) => {
        const cell = made.cells[place + 1];
        if (kind === "interval") fillInterval(cell, row);
        else if (kind === "number") cell.textContent = number(row[field]);
        else if (kind === "decimal") cell.textContent = number(row[field], 1);
        else {
          cell.className = "key" + (kind === "node" && row.depth ? " in" + Math.min(row.depth, 8) : "");
          fillKey(cell, row[field], kind === "node");
        }
      });
      return made;
    }
    function show() {
      table.tBodies[0].replaceChildren(...found.slice(first, first + PAGE).map(line));
      byId("previous").disabled = first === 0;
      byId("next").disabled = first + PAGE >= found.length;
      byId("previous").parentElement.hidden = found.length <= PAGE;
    }
    function report(sorted) {
      const part = found.length > PAGE
        ? "Rows " + shown(first + 1) + " to " + shown(Math.min(first + PAGE, found.length)) + " of " : "";
      const of = found.length < rows.length ? " of " + shown(rows.length) : "";
      say("said", part + shown(found.length) + of + (rows.length === 1 ? " row" : " rows") + (sorted || "") + ".");
    }
    function search() {
      const wanted = byId("search").value.toLowerCase();
      found = wanted === "" ? order : order.filter((index) => texts.some(
        ({ field }) => rows[index][field] !== null && String(rows[index][field]).toLowerCase().includes(wanted)));
      first = 0;
    }
    function sort(heading) {
      const { field, kind } = heading.dataset;
      const text = kind === "key" || kind === "node";
      const now = heading.getAttribute("aria-sort");
      const way = now === null ? (text ? "ascending" : "descending") : now === "ascending" ? "descending" : "ascending";
      headings.forEach((each) => each.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", way);
      table.classList.add("sorted");
      const sign = way === "ascending" ? 1 : -1;
      const compare = (a, b) => a === b ? 0 : a === null ? 1 : b === null ? -1 : (a < b ? -1 : 1) * sign;
      const sorted = rows.map((row) => text || row[field] === null ? row[field] : Number(row[field]));
      order = rows.map((_, index) => index).sort((a, b) => compare(sorted[a], sorted[b]) || a - b);
      search();
      show();
      report(", sorted by " + heading.firstElementChild.textContent + ", " + way);
    }

    headings.forEach((heading) => heading.firstElementChild.addEventListener("click", () => sort(heading)));
    byId("search").addEventListener("input", () => { search(); show(); report(); });
    const turn = (by) => { first += by; show(); report(); byId("said").scrollIntoView({ block: "nearest" }); };
    byId("previous").addEventListener("click", () => turn(-PAGE));
    byId("next").addEventListener("click", () => turn(PAGE));
    if (rows.length > PAGE) show();
    report();
  }

  function withDepths(rows) {
    const above = [];
    rows.forEach((row) => {
      while (above.length && (above[above.length - 1].node !== row.parent
        || above[above.length - 1].level >= row.level)) above.pop();
      row.depth = above.length;
      above.push(row);
    });
  }

  function treeOf(picture) {
    const HEIGHT = 560, LINE = 17;
    const nodes = [...picture.children].map((shape) => ({
      shape, column: Number(shape.dataset.column), y: parseFloat(shape.getAttribute("y")),
      height: parseFloat(shape.getAttribute("height")), inner: [], parent: null,
      name: shape.firstElementChild.nextElementSibling.textContent,
    }));
    const above = [];
    nodes.forEach((node) => {
      above.length = node.column;
      node.parent = above[node.column - 1] || null;
      if (node.parent) node.parent.inner.push(node);
      above.push(node);
    });
    const outermost = nodes.filter((node) => node.parent === null);
    let top = null;

    const percent = (share) => Number(share.toFixed(4)) + "%";
    const within = (node) => { for (let it = node; it; it = it.parent) if (it === top) return true; return top === null; };
    function draw() {
      const inside = nodes.filter(within);
      const start = top ? top.column : 0;
      const columns = 1 + Math.max(...inside.map((node) => node.column)) - start;
      const [from, scale] = top ? [top.y, 100 / top.height] : [0, 1];
      nodes.forEach(({ shape }) => { shape.style.display = "none"; });
      inside.forEach(({ shape, column, y, height }) => {
        const pixels = height * scale * HEIGHT / 100;
        shape.style.display = "";
        shape.setAttribute("x", percent(100 / columns * (column - start)));
        shape.setAttribute("width", percent(100 / columns));
        shape.setAttribute("y", percent((y - from) * scale));
        shape.setAttribute("height", percent(height * scale));
        shape.children[1].setAttribute("display", pixels >= LINE ? "inline" : "none");
        shape.children[2].setAttribute("display", pixels >= 2 * LINE ? "inline" : "none");
      });
      crumbs();
    }
    function crumbs() {
      const path = [];
      for (let node = top; node; node = node.parent) path.unshift(node);
      byId("path").firstElementChild.replaceChildren(...[null, ...path].map((node) => {
        const item = document.createElement("li");
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = node ? node.name : "Whole tree";
        if (node === top) button.setAttribute("aria-current", "location");
        button.addEventListener("click", () => enter(node));
        item.append(button);
        return item;
      }));
    }
    function focus(node) {
      nodes.forEach(({ shape }) => shape.setAttribute("tabindex", "-1"));
      node.shape.setAttribute("tabindex", "0");
      node.shape.focus();
    }
    function enter(node) {
      top = node;
      draw();
      focus(node || outermost[0]);
      const words = node ? node.shape.getAttribute("aria-label") + ", " + shown(node.inner.length)
        + (node.inner.length === 1 ? " node" : " nodes") + " directly inside" : "the whole tree";
      say("icicle-said", "Showing " + words + ".");
    }
    const beside = (node, step) => {
      const all = node === top ? [node] : node.parent ? node.parent.inner : outermost;
      return all[all.indexOf(node) + step];
    };
    const moves = {
      ArrowRight: (node) => node.inner[0], ArrowLeft: (node) => node === top ? null : node.parent,
      ArrowDown: (node) => beside(node, 1), ArrowUp: (node) => beside(node, -1),
      Home: () => top || outermost[0],
    };
    nodes.forEach((node) => {
      node.shape.addEventListener("click", () => enter(node === top ? node.parent : node));
      node.shape.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") enter(node);
        else if (event.key === "Escape" && top) { const was = top; enter(top.parent); focus(was); }
        else if (moves[event.key]) { const next = moves[event.key](node); if (next) focus(next); }
        else return;
        event.preventDefault();
      });
    });
    if (nodes.length) crumbs();
  }

  function save() {
    const file = new Blob([byId("release").textContent], { type: "application/json" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file);
    link.download = "release.json";
    link.click();
    URL.revokeObjectURL(link.href);
  }

  const rows = JSON.parse(byId("release").textContent).rows;
  if (byId("rows")) {
    if (byId("icicle")) withDepths(rows);
    tableOf(byId("rows"), rows);
    byId("save").addEventListener("click", save);
  }
  if (byId("icicle")) treeOf(byId("icicle"));
})();
