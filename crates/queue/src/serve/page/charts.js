// Curves over the last hours, drawn as the charts of drover's reports are: places along the x axis in percent, along the y axis in
// pixels, so that a chart fills its place and its text keeps its size.

import { element } from "./words.js";

const HEIGHT = 150;
const SIDE = 1000;

function shape(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** The smallest of 1, 2, 5, 10, 20 … that is at least this. */
function round(number) {
  const unit = 10 ** Math.floor(Math.log10(number));
  return [1, 2, 5, 10].map((step) => step * unit).find((step) => step >= number * 0.999);
}

function linear(most) {
  const step = Math.max(round(Math.max(most, 1) / 4), 1);
  const top = Math.max(Math.ceil(most / step), 1) * step;
  const ticks = [];
  for (let at = 0; at <= top; at += step) ticks.push(at);
  return { place: (value) => value / top, ticks };
}

function logarithmic(least, most) {
  const low = Math.floor(Math.log10(least));
  const high = Math.max(Math.ceil(Math.log10(most)), low + 1);
  const every = Math.ceil((high - low) / 5);
  const ticks = [];
  for (let power = low; power <= high; power += every) ticks.push(10 ** power);
  return { place: (value) => (Math.log10(value) - low) / (high - low), ticks };
}

function timeTicks(first, count) {
  const step = [5, 10, 15, 30, 60, 120].find((step) => count / step <= 6) ?? 120;
  const offset = new Date().getTimezoneOffset();
  const ticks = [];
  for (let minute = first; minute < first + count; minute += 1) {
    if ((minute - offset) % step === 0) ticks.push(minute);
  }
  return ticks;
}

const time = (minute) => new Date(minute * 60000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });

/** A chart with its title and legend: `show` draws it anew. */
export class Chart {
  constructor(place, title, curves, words, isLogarithmic) {
    Object.assign(this, { title, curves, words, isLogarithmic });
    this.readout = element("span", { class: "readout" });
    this.legend = element("ul", { class: "legend" });
    curves.forEach((name, at) => {
      const mark = shape("svg", { class: "line", viewBox: "0 0 26 10", "aria-hidden": "true" });
      mark.append(shape("path", { class: `curve c${at + 1}`, d: "M0 5H26" }));
      this.legend.append(element("li", {}, mark, name));
    });
    this.figure = element("figure", {}, element("figcaption", {}, title, this.readout), this.legend);
    this.svg = null;
    place.append(this.figure);
  }

  /** Shows lists of values, one for each curve; null is a gap. */
  show(first, lists) {
    const known = lists.flat().filter((value) => value !== null && (!this.isLogarithmic || value > 0));
    const most = known.reduce((most, value) => Math.max(most, value), 0);
    const least = known.reduce((least, value) => Math.min(least, value), Infinity);
    const scale = this.isLogarithmic ? logarithmic(known.length ? least : 1, known.length ? most : 10) : linear(most);
    const length = lists[0].length;
    const spread = Math.max(length - 1, 1);
    const svg = shape("svg", { class: "chart", role: "img", height: HEIGHT, "aria-label": this.told(lists) });
    const widest = Math.max(...scale.ticks.map((tick) => this.words(tick).length));
    svg.style.setProperty("--axis", `${widest + 2}ch`);
    for (const tick of scale.ticks) {
      const y = HEIGHT * (1 - scale.place(tick));
      svg.append(shape("line", { class: tick === scale.ticks[0] ? "base" : "grid", x1: 0, x2: "100%", y1: y, y2: y }));
      svg.append(shape("text", { class: "y", x: -8, y, dy: ".35em" }, this.words(tick)));
    }
    for (const minute of timeTicks(first, length)) {
      const x = `${(100 * (minute - first)) / spread}%`;
      svg.append(shape("line", { class: "base", x1: x, x2: x, y1: HEIGHT, y2: HEIGHT + 4 }));
      svg.append(shape("text", { class: "x", x, y: HEIGHT + 18 }, time(minute)));
    }
    const stretched = { width: "100%", height: HEIGHT, viewBox: `0 0 ${SIDE} ${SIDE}`, preserveAspectRatio: "none" };
    lists.forEach((list, at) => {
      const curve = shape("svg", stretched);
      curve.append(shape("path", { class: `curve c${at + 1}`, d: this.path(list, scale, spread) }));
      svg.append(curve);
    });
    this.cursor = shape("line", { class: "cursor", y1: 0, y2: HEIGHT });
    svg.append(this.cursor, shape("rect", { class: "hit", width: "100%", height: HEIGHT }));
    this.listen(svg, first, lists, spread);
    if (this.svg) this.svg.replaceWith(svg);
    else this.figure.append(svg);
    this.svg = svg;
    this.readout.textContent = "";
  }

  path(list, scale, spread) {
    let path = "";
    let isJoined = false;
    list.forEach((value, at) => {
      if (value === null || (this.isLogarithmic && value <= 0)) {
        isJoined = false;
        return;
      }
      const x = ((SIDE * at) / spread).toFixed(1);
      const y = (SIDE * (1 - scale.place(value))).toFixed(1);
      // A point between gaps is a short line.
      path += isJoined ? `L${x} ${y}` : `M${x} ${y}h2`;
      isJoined = true;
    });
    return path;
  }

  listen(svg, first, lists, spread) {
    const move = (event) => {
      const box = svg.getBoundingClientRect();
      const at = Math.round(((event.clientX - box.left) / box.width) * spread);
      if (at < 0 || at >= lists[0].length) return;
      const values = lists.map((list, curve) => `${this.curves[curve]} ${list[at] === null ? "–" : this.words(list[at])}`);
      this.readout.textContent = `${time(first + at)}  ${values.join(", ")}`;
      this.cursor.setAttribute("x1", `${(100 * at) / spread}%`);
      this.cursor.setAttribute("x2", `${(100 * at) / spread}%`);
      this.cursor.style.visibility = "visible";
    };
    svg.addEventListener("pointermove", move);
    svg.addEventListener("pointerdown", move);
    svg.addEventListener("pointerleave", () => {
      this.cursor.style.visibility = "hidden";
      this.readout.textContent = "";
    });
  }

  told(lists) {
    const last = lists.map((list) => list[list.length - 1] ?? null);
    const said = last.map((value, at) => `${this.curves[at]} ${value === null ? "unknown" : this.words(value)}`);
    return `${this.title}; in the last minute: ${said.join(", ")}`;
  }
}
