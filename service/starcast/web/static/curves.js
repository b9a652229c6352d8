/**
 * Plots of a comparison, from the data in the page: time against message size, and links busy per
 * step. A slider, or the pointer, selects a message size at which the values of all curves are
 * shown. Crossovers are numbered. The tables of values in the page, which browsers without scripts
 * show, are collapsed.
 */

/**
 * @typedef {{message_bytes: number, time: number, segments?: number, steps?: number}} Spot
 * @typedef {{label: string, spots: Spot[], path: [number, number][]}} Curve
 * @typedef {{how: string, low: number, high: number, time: number | null, sentence: string}} Crossover
 * @typedef {{label: string, segments: number, links: number, links_used: number[]}} Profile
 * @typedef {{name: string, curves: Curve[], bounds: Curve[], crossovers: Crossover[], profiles: Profile[]}} Panel
 */

const SVG = "http://www.w3.org/2000/svg";
const [HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [380, 84, 18, 18, 46];
/** The limits of a chart's width, which keep its letters readable on a telephone. */
const [NARROWEST, WIDEST] = [340, 860];
const COLOURS = 8;
const DASHES = ["", "9 3", "3 3", "12 3 3 3", "1 4"];
const BOUND_DASHES = ["2 4", "6 3", "1 2", "8 3 2 3"];
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
/** Marks of crossovers that are closer than this share a label. */
const NEAR = 18;

/** @param {string} name @param {Record<string, string | number>} attributes @param {Element} [parent] */
function draw(name, attributes, parent) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  parent?.append(element);
  return element;
}

/** @param {string} name @param {string} text @param {Element} parent @param {Record<string, string>} attributes */
function create(name, text, parent, attributes = {}) {
  const element = document.createElement(name);
  element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent.append(element);
  return element;
}

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

/** An axis up to the largest value: logarithmic from the smallest value, or linear from 0. */
class Axis {
  /** @param {number[]} values @param {number} from @param {number} to positions of its ends @param {boolean} isLog */
  constructor(values, from, to, isLog = true) {
    this.isLog = isLog;
    const scaled = isLog ? values.map(Math.log10) : [0, ...values];
    this.low = Math.min(...scaled);
    this.high = Math.max(...scaled);
    if (isLog && this.high - this.low < 0.3) {
      this.low -= 0.15;
      this.high += 0.15;
    }
    this.from = from;
    this.to = to;
  }

  /** @param {number} value */
  at(value) {
    const share = ((this.isLog ? Math.log10(value) : value) - this.low) / (this.high - this.low);
    return this.from + share * (this.to - this.from);
  }

  /** @param {number} position */
  valueAt(position) {
    const share = (position - this.from) / (this.to - this.from);
    return 10 ** (this.low + share * (this.high - this.low));
  }

  /** @returns {{value: number, text: string}[]} */
  ticks() {
    return this.isLog ? this.logTicks() : this.linearTicks();
  }

  logTicks() {
    const ticks = [];
    const factors = this.high - this.low < 2.5 ? [1, 2, 5] : [1];
    const stride = Math.max(1, Math.ceil((this.high - this.low) / 8));
    for (let power = Math.floor(this.low); power <= Math.ceil(this.high); power += stride) {
      for (const factor of factors) {
        const value = factor * 10 ** power;
        const place = Math.log10(value);
        if (place < this.low - 1e-9 || place > this.high + 1e-9) continue;
        ticks.push({ value, text: factor === 1 ? tickText(power) : format(value) });
      }
    }
    return ticks;
  }

  linearTicks() {
    const rough = this.high / 7;
    const power = 10 ** Math.floor(Math.log10(rough));
    const stride = Math.max(1, power * (([1, 2, 5].find((factor) => factor * power >= rough)) ?? 10));
    const ticks = [];
    for (let value = 0; value <= this.high * 1.0001; value += stride) ticks.push({ value, text: format(value) });
    return ticks;
  }
}

/** @type {string[]} the labels of all curves of the page; their order determines colours and dashes in all plots */
let labels = [];

/** @param {string} label @returns {Record<string, string>} */
function styleOf(label) {
  const place = labels.indexOf(label);
  const dash = DASHES[place % DASHES.length];
  const stroke = { class: "curve", stroke: colourOf(label) };
  return dash ? { ...stroke, "stroke-dasharray": dash } : stroke;
}

/** @param {number} place @returns {Record<string, string>} */
const boundStyle = (place) => ({ class: "bound", "stroke-dasharray": BOUND_DASHES[place % BOUND_DASHES.length] ?? "" });

/** @param {string} label */
const colourOf = (label) => `var(--tree-${(labels.indexOf(label) % COLOURS) + 1})`;

/** Put a sample of a line before the label of a curve. @param {Element} cell @param {Record<string, string>} style */
function addSample(cell, style) {
  const svg = draw("svg", { class: "sample", viewBox: "0 0 30 8", "aria-hidden": "true" });
  draw("line", { x1: 0, x2: 30, y1: 4, y2: 4, ...style }, svg);
  cell.prepend(svg);
}

/** A picture with two axes. */
class Plot {
  /** @param {Element} parent @param {string} title @param {Axis} x @param {Axis} y @param {number} width */
  constructor(parent, title, x, y, width) {
    const figure = create("figure", "", parent);
    this.x = x;
    this.y = y;
    this.width = width;
    this.svg = draw("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": title }, figure);
  }

  /** @param {string} across @param {string} up the names of the axes */
  drawAxes(across, up) {
    for (const { value, text } of this.x.ticks()) {
      const x = this.x.at(value);
      draw("line", { class: "grid", x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }, this.svg);
      draw("text", { x, y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, this.svg).textContent = text;
    }
    for (const { value, text } of this.y.ticks()) {
      const y = this.y.at(value);
      draw("line", { class: "grid", x1: LEFT, x2: this.width - RIGHT, y1: y, y2: y }, this.svg);
      draw("text", { x: LEFT - 8, y: y + 4, "text-anchor": "end" }, this.svg).textContent = text;
    }
    const middle = (TOP + HEIGHT - BOTTOM) / 2;
    const centre = (LEFT + this.width - RIGHT) / 2;
    draw("text", { x: centre, y: HEIGHT - 6, "text-anchor": "middle" }, this.svg).textContent = across;
    const turned = { x: 16, y: middle, "text-anchor": "middle", transform: `rotate(-90 16 ${middle})` };
    draw("text", turned, this.svg).textContent = up;
  }

  /** @param {[number, number][]} points @param {Record<string, string>} style */
  drawLine(points, style) {
    const places = points.map(([x, y]) => `${this.x.at(x).toFixed(2)},${this.y.at(y).toFixed(2)}`);
    draw("polyline", { points: places.join(" "), fill: "none", ...style }, this.svg);
  }
}

/** @param {Spot} spot */
const isDrawn = (spot) => spot.message_bytes > 0 && spot.time > 0;

/** The plot of a panel's times, with a slider and the table of values at a message size. */
class Times {
  /** @param {Panel} panel @param {Element} parent */
  constructor(panel, parent) {
    this.panel = panel;
    this.lines = [
      ...panel.curves.map((curve) => ({ ...curve, style: styleOf(curve.label) })),
      ...panel.bounds.map((bound, place) => ({ ...bound, style: boundStyle(place) })),
    ];
    const spots = this.lines.flatMap((line) => line.spots).filter(isDrawn);
    this.sizes = [...new Set(panel.curves.flatMap((curve) => curve.spots.filter(isDrawn)).map((spot) => spot.message_bytes))];
    this.sizes.sort((a, b) => a - b);
    this.place = 0;
    if (this.sizes.length > 1) this.drawPlot(parent, spots);
    this.readings = this.createReadings(parent);
    this.show(this.sizes.length - 1);
  }

  /** @param {Element} parent @param {Spot[]} spots */
  drawPlot(parent, spots) {
    const width = Math.min(Math.max(parent.clientWidth, NARROWEST), WIDEST);
    const x = new Axis(this.sizes, LEFT, width - RIGHT);
    const y = new Axis(spots.map((spot) => spot.time), HEIGHT - BOTTOM, TOP);
    this.plot = new Plot(parent, `Time against message size: ${this.panel.name}. The table below has the values.`, x, y, width);
    const { plot } = this;
    plot.drawAxes("message size in bytes", "time");
    this.drawRanges(plot);
    for (const line of this.lines) plot.drawLine(line.path, line.style);
    for (const curve of this.panel.curves) this.drawMarks(plot, curve);
    this.cursor = draw("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM }, plot.svg);
    this.drawCrossovers(plot);
    for (const type of ["pointermove", "pointerdown"]) {
      plot.svg.addEventListener(type, (event) => this.follow(/** @type {PointerEvent} */ (event), plot));
    }
    const label = create("label", "message size", parent);
    this.slider = /** @type {HTMLInputElement} */ (create("input", "", label));
    Object.assign(this.slider, { type: "range", min: "0", max: String(this.sizes.length - 1), step: "1" });
    this.slider.addEventListener("input", () => this.show(Number(this.slider?.value)));
  }

  /** @param {Plot} plot @param {Curve} curve */
  drawMarks(plot, curve) {
    for (const spot of curve.spots.filter(isDrawn)) {
      const at = { cx: plot.x.at(spot.message_bytes), cy: plot.y.at(spot.time) };
      const mark = draw("circle", { ...at, r: 3.2, fill: colourOf(curve.label) }, plot.svg);
      const text = `${curve.label}: time ${format(spot.time)} at ${format(spot.message_bytes)} bytes`;
      draw("title", {}, mark).textContent = `${text}, segments ${spot.segments}, ${spot.steps} steps`;
    }
  }

  /** Draw each range of message sizes once, however many crossovers it has. @param {Plot} plot */
  drawRanges(plot) {
    const ranges = new Set();
    for (const { how, low, high } of this.panel.crossovers) {
      if (how === "at" || low <= 0 || ranges.has(`${low} ${high}`)) continue;
      ranges.add(`${low} ${high}`);
      const [from, to] = [plot.x.at(low), plot.x.at(high)];
      draw("rect", { class: "range", x: from, width: Math.max(to - from, 2), y: TOP, height: HEIGHT - BOTTOM - TOP }, plot.svg);
    }
  }

  /** Number the crossovers; crossovers that are too close share a label. @param {Plot} plot */
  drawCrossovers(plot) {
    /** @type {{x: number, y: number, numbers: number[], sentences: string[]}[]} */
    const marks = [];
    this.panel.crossovers.forEach((crossover, place) => {
      const { how, low, high, time, sentence } = crossover;
      if (low <= 0) return;
      const x = plot.x.at(how === "at" ? low : Math.sqrt(low * high));
      const y = time ? plot.y.at(time) : TOP + 14;
      const near = marks.find((mark) => Math.hypot(mark.x - x, mark.y - y) < NEAR);
      if (near) {
        near.numbers.push(place + 1);
        near.sentences.push(sentence);
      } else marks.push({ x, y, numbers: [place + 1], sentences: [sentence] });
    });
    for (const { x, y, numbers, sentences } of marks) {
      const text = numbers.join(",");
      const ring = draw("rect", { class: "crossover", x: x - 5 - 3.5 * text.length, width: 10 + 7 * text.length, y: y - 8.5, height: 17, rx: 8.5 }, plot.svg);
      draw("title", {}, ring).textContent = sentences.join("\n");
      draw("text", { class: "number-mark", x, y: y + 4 }, plot.svg).textContent = text;
    }
  }

  /** @param {Element} parent */
  createReadings(parent) {
    const scroll = { class: "scroll", role: "region", tabindex: "0", "aria-label": "values at a message size" };
    const table = create("table", "", create("div", "", parent, scroll), { class: "readings" });
    this.caption = create("caption", "", table, { "aria-live": "polite" });
    const head = create("tr", "", create("thead", "", table));
    create("th", "curve", head, { scope: "col" });
    for (const name of ["time", "time / least", "segments"]) create("th", name, head, { scope: "col", class: "number" });
    return create("tbody", "", table);
  }

  /** @param {PointerEvent} event @param {Plot} plot */
  follow(event, plot) {
    const box = plot.svg.getBoundingClientRect();
    const wanted = plot.x.valueAt(((event.clientX - box.left) / box.width) * plot.width);
    const distances = this.sizes.map((size) => Math.abs(Math.log(size / wanted)));
    const nearest = distances.indexOf(Math.min(...distances));
    if (nearest !== this.place) this.show(nearest);
  }

  /** @param {number} place the index of a message size */
  show(place) {
    const size = this.sizes[place];
    if (size === undefined) return;
    this.place = place;
    if (this.slider) {
      this.slider.value = String(place);
      this.slider.setAttribute("aria-valuetext", `${format(size)} bytes`);
    }
    if (this.cursor && this.plot) {
      for (const end of ["x1", "x2"]) this.cursor.setAttribute(end, String(this.plot.x.at(size)));
    }
    if (this.caption) this.caption.textContent = `at a message size of ${format(size)} bytes`;
    /** @param {Curve} line */
    const spotOf = (line) => line.spots.find((spot) => spot.message_bytes === size);
    const least = Math.min(...this.panel.curves.map((curve) => spotOf(curve)?.time ?? Infinity));
    this.readings.replaceChildren();
    for (const line of this.lines) this.addReading(line.label, spotOf(line), least, line.style);
  }

  /** @param {string} label @param {Spot | undefined} spot @param {number} least @param {Record<string, string>} style */
  addReading(label, spot, least, style) {
    const row = create("tr", "", this.readings);
    addSample(create("td", label, row), style);
    const texts = spot ? [format(spot.time), (spot.time / least).toFixed(2), String(spot.segments ?? "")] : ["", "", ""];
    for (const text of texts) create("td", text, row, { class: "number" });
    if (spot && spot.time === least) row.classList.add("best");
  }
}

/** Draw the directed links busy in each step, as shares of all links if networks differ in size.
 * @param {Panel} panel @param {Element} parent */
function drawLinks(panel, parent) {
  const sizes = panel.profiles.map((profile) => profile.links);
  const isShare = new Set(sizes).size > 1;
  const most = isShare ? 100 : sizes[0] ?? 0;
  const width = Math.min(Math.max(parent.clientWidth, NARROWEST), WIDEST);
  const steps = Math.max(...panel.profiles.map((profile) => profile.links_used.length));
  const x = new Axis([steps], LEFT, width - RIGHT, false);
  const y = new Axis([most], HEIGHT - BOTTOM, TOP, false);
  const plot = new Plot(parent, `Links busy per step: ${panel.name}. The table below has averages.`, x, y, width);
  plot.drawAxes("step", isShare ? "directed links busy, % of the network's" : "directed links busy");
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
    if (panel && times) new Times(panel, times);
    if (panel && links) drawLinks(panel, links);
    for (const cell of section.querySelectorAll("[data-curve]")) addSample(cell, styleOf(cell.textContent ?? ""));
    for (const values of section.querySelectorAll("details.values")) values.removeAttribute("open");
  }
}
