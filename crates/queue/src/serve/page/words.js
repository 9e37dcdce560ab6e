// Numbers in words, and elements. Text goes into the page as text only.

export const count = (number) => Math.round(number).toLocaleString("en-US");

export function rate(number) {
  return number < 10 ? number.toFixed(1) : count(number);
}

export function duration(seconds) {
  if (seconds === undefined || seconds === null) return "–";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10 && !Number.isInteger(seconds)) return `${seconds.toFixed(1)} s`;
  if (seconds < 100) return `${Math.round(seconds)} s`;
  if (seconds < 6000) return `${Math.round(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${(seconds / 3600).toFixed(1)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

export const clock = (ms) => new Date(ms).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** A time of another day, too; here is where the page is looked at. */
export function when(ms) {
  const time = new Date(ms);
  const words = { hour: "2-digit", minute: "2-digit", second: time.getSeconds() ? "2-digit" : undefined };
  if (time.toDateString() !== new Date().toDateString()) Object.assign(words, { weekday: "short", day: "numeric", month: "short" });
  if (time.getFullYear() !== new Date().getFullYear()) words.year = "numeric";
  return time.toLocaleString("en-GB", words);
}

export const things = (number, thing) => `${count(number)} ${thing}${number === 1 ? "" : "s"}`;

export const byId = (id) => document.getElementById(id);

/** An element with attributes and children; text among these stays text. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A table whose rows keep their places in the document while their cells change: who has the focus keeps it. */
export class Table {
  constructor(place, columns, none) {
    this.place = place;
    this.columns = columns;
    this.empty = none;
    this.none = element("p", { class: "none" }, none);
    const heads = columns.map((column) => element("th", { scope: "col", class: column.class ?? "" }, column.name));
    this.body = element("tbody");
    const table = element("table", { class: "cards" }, element("thead", {}, element("tr", {}, ...heads)), this.body);
    this.scroll = element("div", { class: "scroll" }, table);
    place.append(this.scroll, this.none);
    this.rows = new Map();
  }

  /** Says why there may be no rows, if that is another reason than that there are none. */
  explain(why) {
    const text = why ?? this.empty;
    if (this.none.textContent !== text) this.none.textContent = text;
  }

  /** Shows these rows: each has a key and a cell for each column, which is a text, an element or {text, class, title}. */
  show(rows) {
    this.scroll.hidden = rows.length === 0;
    this.none.hidden = rows.length > 0;
    const kept = new Set(rows.map((row) => row.key));
    for (const [key, row] of this.rows) {
      if (!kept.has(key)) {
        row.remove();
        this.rows.delete(key);
      }
    }
    rows.forEach((row, at) => {
      const shown = this.rows.get(row.key) ?? this.add(row.key);
      if (this.body.children[at] !== shown) this.body.insertBefore(shown, this.body.children[at] ?? null);
      row.cells.forEach((cell, column) => this.fill(shown.children[column], cell, column));
    });
  }

  add(key) {
    const cells = this.columns.map((column, at) => {
      const kind = at === 0 ? "th" : "td";
      return element(kind, at === 0 ? { scope: "row", "data-label": column.name } : { "data-label": column.name });
    });
    const row = element("tr", {}, ...cells);
    this.rows.set(key, row);
    return row;
  }

  fill(place, cell, column) {
    if (cell instanceof Node) {
      if (place.firstChild !== cell) place.replaceChildren(cell);
      return;
    }
    const { text, className = "", title = "" } = typeof cell === "object" ? cell : { text: cell };
    if (place.textContent !== text) place.textContent = text;
    const all = `${this.columns[column].class ?? ""} ${className}`.trim();
    if (place.className !== all) place.className = all;
    if (place.title !== title) place.title = title;
  }
}
