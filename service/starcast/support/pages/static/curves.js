/**
 * Plots of a comparison: time against message size, and links busy per step. A slider or the pointer selects
 * the message size of the values shown. The tables in the page, for browsers without scripts, are collapsed.
 */

import { element, svgElement, treeColour, update } from "./elements.js";

/**
 * @typedef {{message_bytes: number, time: number, segments?: number, steps?: number}} Spot
 * @typedef {{label: string, spots: Spot[], path: [number, number][]}} Curve
 * @typedef {Curve & {isBound: boolean, style: Record<string, string>}} Line a curve or a lower bound
 * @typedef {{how: string, low: number, high: number, time: number | null, sentence: string}} Crossover
 * @typedef {{label: string, segments: number, links: number, links_used: number[]}} Profile
 * @typedef {{name: string, curves: Curve[], bounds: Curve[], crossovers: Crossover[], profiles: Profile[]}} Panel
 */

const [HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [380, 84, 18, 18, 46];
/** The limits of a chart's width, which keep its letters readable on a telephone. */
const [NARROWEST, WIDEST] = [340, 860];
const DASHES = ["", "9 3", "3 3", "12 3 3 3", "1 4"];
const BOUND_DASHES = ["2 4", "6 3", "1 2", "8 3 2 3"];
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
/** The width of a digit, and the smallest distance between the labels of two ticks. */
const [DIGIT, BETWEEN] = [7.6, 8];
/** Marks of crossovers that are closer than this share a label. */
const NEAR = 18;

/** @param {number} value */
function format(value) {
  if (value !== 0 && (Math.abs(value) >= 1e7 || Math.abs(value) < 1e-3)) {
    return value.toExponential(4).replace(/\.?0+e/, "e");
  }
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return value.toLocaleString("en", { maximumSignificantDigits: 6 });
}

/** @param {number} power */
function tickText(power) {
  if (power >= 0 && power <= 5) return format(10 ** power);
  const digits = [...String(Math.abs(power))].map((digit) => SUPERSCRIPTS[Number(digit)]).join("");
  return `10${power < 0 ? "⁻" : ""}${digits}`;
}

/** @typedef {{value: number, text: string}} Tick */

/**
 * Choose the ticks whose labels fit next to each other; powers of ten come first.
 *
 * @param {Tick[]} ticks @param {(value: number) => number} place @returns {Set<Tick>}
 */
function withoutCollisions(ticks, place) {
  const isPower = (/** @type {Tick} */ { value }) => Number(/^10*$/.test(String(value)));
  /** @type {Set<Tick>} */
  const chosen = new Set();
  for (const tick of [...ticks].sort((one, other) => isPower(other) - isPower(one))) {
    const isFree = [...chosen].every((other) => {
      const width = ((tick.text.length + other.text.length) / 2) * DIGIT + BETWEEN;
      return Math.abs(place(tick.value) - place(other.value)) >= width;
    });
    if (isFree) chosen.add(tick);
  }
  return chosen;
}

/** An axis up to the largest value: logarithmic from the smallest value, or linear from 0. */
class Axis {
  /** @param {number[]} values @param {number} from @param {number} to positions of its ends @param {boolean} isLog */
  constructor(values, from, to, isLog = true) {
    this.isLog = isLog;
    this.scale = isLog ? Math.log10 : Number;
    const scaled = (isLog ? values : [0, ...values]).map(this.scale);
    const [low, high] = [Math.min(...scaled), Math.max(...scaled)];
    const margin = isLog && high - low < 0.3 ? 0.15 : 0;
    this.low = low - margin;
    this.high = high + margin;
    this.from = from;
    this.to = to;
  }

  /** @param {number} value */
  at(value) {
    const share = (this.scale(value) - this.low) / (this.high - this.low);
    return this.from + share * (this.to - this.from);
  }

  /** @param {number} position */
  valueAt(position) {
    const share = (position - this.from) / (this.to - this.from);
    return 10 ** (this.low + share * (this.high - this.low));
  }

  /** @returns {Tick[]} */
  ticks() {
    const span = this.high - this.low;
    if (!this.isLog) {
      const rough = this.high / 7;
      const power = 10 ** Math.floor(Math.log10(rough));
      const stride = Math.max(1, power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10));
      const values = Array.from({ length: Math.floor((this.high * 1.0001) / stride) + 1 }, (_, at) => at * stride);
      return values.map((value) => ({ value, text: format(value) }));
    }
    const stride = Math.max(1, Math.ceil(span / 8));
    const count = Math.floor((Math.ceil(this.high) - Math.floor(this.low)) / stride) + 1;
    const powers = Array.from({ length: count }, (_, at) => Math.floor(this.low) + at * stride);
    const ticks = powers.flatMap((power) => (span < 2.5 ? [1, 2, 5] : [1]).map((factor) => {
      const value = factor * 10 ** power;
      return { value, text: factor === 1 ? tickText(power) : format(value) };
    }));
    return ticks.filter(({ value }) => Math.abs(Math.log10(value) - (this.low + this.high) / 2) <= span / 2 + 1e-9);
  }
}

/** @type {string[]} the labels of all curves of the page; their order determines colours and dashes in all plots */
let labels = [];

/** @param {string} label @returns {Record<string, string>} */
function styleOf(label) {
  const dash = DASHES[labels.indexOf(label) % DASHES.length];
  return { class: "curve", stroke: colourOf(label), ...(dash && { "stroke-dasharray": dash }) };
}

/** @param {number} place @returns {Record<string, string>} */
const boundStyle = (place) => ({ class: "bound", "stroke-dasharray": BOUND_DASHES[place % BOUND_DASHES.length] ?? "" });

/** @param {string} label */
const colourOf = (label) => treeColour(labels.indexOf(label));

/** Put a sample of a line before the label of a curve. @param {Element} cell @param {Record<string, string>} style */
function addSample(cell, style) {
  const line = svgElement("line", { x1: 0, x2: 30, y1: 4, y2: 4, ...style });
  cell.prepend(svgElement("svg", { class: "sample", viewBox: "0 0 30 8", "aria-hidden": "true" }, line));
}

/** A plot with a horizontal and a vertical axis. */
class Plot {
  /**
   * @param {Element} parent determines the width of the plot, within limits @param {string} title
   * @param {[name: string, values: number[]]} across @param {[name: string, values: number[]]} up
   * @param {boolean} isLog whether the axes are logarithmic
   */
  constructor(parent, title, [across, acrossValues], [up, upValues], isLog) {
    this.width = Math.min(Math.max(parent.clientWidth, NARROWEST), WIDEST);
    this.x = new Axis(acrossValues, LEFT, this.width - RIGHT, isLog);
    this.y = new Axis(upValues, HEIGHT - BOTTOM, TOP, isLog);
    this.svg = svgElement("svg", { viewBox: `0 0 ${this.width} ${HEIGHT}`, role: "img", "aria-label": title });
    parent.append(element("figure", {}, this.svg));
    const ticks = this.x.ticks();
    const labelled = withoutCollisions(ticks, (value) => this.x.at(value));
    for (const tick of ticks) {
      const x = this.x.at(tick.value);
      this.draw("line", { class: "grid", x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM });
      if (labelled.has(tick)) this.draw("text", { x, y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, tick.text);
    }
    for (const { value, text } of this.y.ticks()) {
      const y = this.y.at(value);
      this.draw("line", { class: "grid", x1: LEFT, x2: this.width - RIGHT, y1: y, y2: y });
      this.draw("text", { x: LEFT - 8, y: y + 4, "text-anchor": "end" }, text);
    }
    const middle = (TOP + HEIGHT - BOTTOM) / 2;
    this.draw("text", { x: (LEFT + this.width - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, across);
    this.draw("text", { x: 16, y: middle, "text-anchor": "middle", transform: `rotate(-90 16 ${middle})` }, up);
  }

  /** @param {string} tag @param {Record<string, string | number>} attributes @param {(Node | string)[]} children */
  draw(tag, attributes, ...children) {
    this.svg.append(svgElement(tag, attributes, ...children));
  }

  /** @param {[number, number][]} points @param {Record<string, string>} style */
  drawLine(points, style) {
    const places = points.map(([x, y]) => `${this.x.at(x).toFixed(2)},${this.y.at(y).toFixed(2)}`);
    this.draw("polyline", { points: places.join(" "), fill: "none", ...style });
  }
}

/** @param {Spot} spot */
const isDrawn = (spot) => spot.message_bytes > 0 && spot.time > 0;

/** Draw each range of message sizes once, however many crossovers it has. @param {Crossover[]} crossovers @param {Plot} plot */
function drawRanges(crossovers, plot) {
  const ranges = new Map();
  for (const { how, low, high } of crossovers) {
    if (how !== "at" && low > 0) ranges.set(`${low} ${high}`, [plot.x.at(low), plot.x.at(high)]);
  }
  for (const [from, to] of ranges.values()) {
    plot.draw("rect", { class: "range", x: from, width: Math.max(to - from, 2), y: TOP, height: HEIGHT - BOTTOM - TOP });
  }
}

/** Number the crossovers; crossovers that are too close share a label. @param {Crossover[]} crossovers @param {Plot} plot */
function drawCrossovers(crossovers, plot) {
  /** @type {{x: number, y: number, numbers: number[], sentences: string[]}[]} */
  const marks = [];
  crossovers.forEach(({ how, low, high, time, sentence }, place) => {
    if (low <= 0) return;
    const x = plot.x.at(how === "at" ? low : Math.sqrt(low * high));
    const y = time ? plot.y.at(time) : TOP + 14;
    let mark = marks.find((each) => Math.hypot(each.x - x, each.y - y) < NEAR);
    if (!mark) marks.push((mark = { x, y, numbers: [], sentences: [] }));
    mark.numbers.push(place + 1);
    mark.sentences.push(sentence);
  });
  for (const { x, y, numbers, sentences } of marks) {
    const text = numbers.join(",");
    const ring = { x: x - 5 - 3.5 * text.length, width: 10 + 7 * text.length, y: y - 8.5, height: 17, rx: 8.5 };
    plot.draw("rect", { class: "crossover", ...ring }, svgElement("title", {}, sentences.join("\n")));
    plot.draw("text", { class: "number-mark", x, y: y + 4 }, text);
  }
}

/** @param {Panel} panel @param {Line[]} lines @param {number[]} sizes @param {Element} parent @returns {Plot} */
function plotTimes({ name, curves, crossovers }, lines, sizes, parent) {
  const times = lines.flatMap((line) => line.spots).filter(isDrawn).map((spot) => spot.time);
  const title = `Time against message size: ${name}. The table below contains the values.`;
  const plot = new Plot(parent, title, ["message size in bytes", sizes], ["time", times], true);
  drawRanges(crossovers, plot);
  for (const line of lines) plot.drawLine(line.path, line.style);
  for (const { label, spots } of curves) {
    for (const { message_bytes, time, segments, steps } of spots.filter(isDrawn)) {
      const mark = { cx: plot.x.at(message_bytes), cy: plot.y.at(time), r: 3.2, fill: colourOf(label) };
      const text = `${label}: time ${format(time)} at ${format(message_bytes)} bytes, segments ${segments}, ${steps} steps`;
      plot.draw("circle", mark, svgElement("title", {}, text));
    }
  }
  return plot;
}

/** @param {Line[]} lines @param {number} size of the message @returns {HTMLElement[]} table rows with the values of lines */
function readLines(lines, size) {
  const spots = lines.map((line) => line.spots.find((spot) => spot.message_bytes === size));
  const least = Math.min(...lines.map(({ isBound }, at) => (isBound ? Infinity : spots[at]?.time ?? Infinity)));
  return lines.map(({ label, style }, at) => {
    const spot = spots[at];
    const texts = spot ? [format(spot.time), (spot.time / least).toFixed(2), String(spot.segments ?? "")] : ["", "", ""];
    const name = element("td", {}, label);
    addSample(name, style);
    const row = element("tr", {}, name, ...texts.map((text) => element("td", { class: "number" }, text)));
    if (spot?.time === least) row.className = "best";
    return row;
  });
}

/** Draw a panel's times, with a slider and the table of values at a message size. @param {Panel} panel @param {Element} parent */
function drawTimes(panel, parent) {
  const lines = [
    ...panel.curves.map((curve) => ({ ...curve, isBound: false, style: styleOf(curve.label) })),
    ...panel.bounds.map((bound, place) => ({ ...bound, isBound: true, style: boundStyle(place) })),
  ];
  const stored = panel.curves.flatMap((curve) => curve.spots).filter(isDrawn);
  const sizes = [...new Set(stored.map((spot) => spot.message_bytes))].sort((a, b) => a - b);
  const slider = /** @type {HTMLInputElement} */ (element("input", { type: "range", min: 0, max: sizes.length - 1, step: 1 }));
  const cursor = svgElement("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM });
  const caption = element("caption", { "aria-live": "polite" });
  const rows = element("tbody");
  const plot = sizes.length > 1 ? plotTimes(panel, lines, sizes, parent) : null;
  /** @param {number} place the index of a message size */
  const show = (place) => {
    const size = sizes[place];
    if (size === undefined) return;
    slider.value = String(place);
    slider.setAttribute("aria-valuetext", `${format(size)} bytes`);
    if (plot) update(cursor, { x1: plot.x.at(size), x2: plot.x.at(size) });
    caption.textContent = `at a message size of ${format(size)} bytes`;
    rows.replaceChildren(...readLines(lines, size));
  };
  if (plot) {
    plot.svg.append(cursor);
    drawCrossovers(panel.crossovers, plot);
    /** @param {PointerEvent} event */
    const follow = (event) => {
      const box = plot.svg.getBoundingClientRect();
      const wanted = plot.x.valueAt(((event.clientX - box.left) / box.width) * plot.width);
      const distances = sizes.map((size) => Math.abs(Math.log(size / wanted)));
      const nearest = distances.indexOf(Math.min(...distances));
      if (nearest !== Number(slider.value)) show(nearest);
    };
    plot.svg.addEventListener("pointermove", follow);
    plot.svg.addEventListener("pointerdown", follow);
    slider.addEventListener("input", () => show(Number(slider.value)));
    parent.append(element("label", {}, "message size", slider));
  }
  const numbers = ["time", "time / shortest", "segments"].map((name) => element("th", { scope: "col", class: "number" }, name));
  const head = element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "curve"), ...numbers));
  const scroll = { class: "scroll", role: "region", tabindex: "0", "aria-label": "values at a message size" };
  parent.append(element("div", scroll, element("table", { class: "readings" }, caption, head, rows)));
  show(sizes.length - 1);
}

/** Draw the links busy in each step, as shares of all links if networks differ in size. @param {Panel} panel @param {Element} parent */
function drawLinks(panel, parent) {
  const sizes = panel.profiles.map((profile) => profile.links);
  const isShare = new Set(sizes).size > 1;
  const most = isShare ? 100 : sizes[0] ?? 0;
  const steps = Math.max(...panel.profiles.map((profile) => profile.links_used.length));
  const title = `Links busy per step: ${panel.name}. The table below has averages.`;
  const up = isShare ? "directed links busy, % of the network's" : "directed links busy";
  const plot = new Plot(parent, title, ["step", [steps]], [up, [most]], false);
  plot.drawLine([[0, most], [steps, most]], boundStyle(0));
  for (const { label, links, links_used } of panel.profiles) {
    /** @type {[number, number][]} */
    const stairs = links_used.flatMap((used, step) => {
      const height = isShare ? (100 * used) / links : used;
      return [[step, height], [step + 1, height]];
    });
    plot.drawLine(stairs, styleOf(label));
  }
}

const data = document.getElementById("panels");
if (data) {
  /** @type {Panel[]} */
  const panels = JSON.parse(data.textContent ?? "[]");
  labels = [...new Set(panels.flatMap((panel) => panel.curves.map((curve) => curve.label)))];
  for (const section of document.querySelectorAll("[data-panel]")) {
    const panel = panels[Number(/** @type {HTMLElement} */ (section).dataset.panel)];
    const [times, links] = [section.querySelector(".times"), section.querySelector(".links")];
    if (panel && times) drawTimes(panel, times);
    if (panel && links) drawLinks(panel, links);
    for (const cell of section.querySelectorAll("[data-curve]")) addSample(cell, styleOf(cell.textContent ?? ""));
    for (const values of section.querySelectorAll("details.values")) values.removeAttribute("open");
  }
}
