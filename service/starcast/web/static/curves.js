/**
 * Curves of a comparison: time against message size, from the API. A slider, or the pointer, reads
 * off the values of all curves at a message size; crossovers are numbered.
 */

/**
 * @typedef {{message_bytes: number, time: number, segments: number | null, run: number | null}} Spot
 * @typedef {{label: string, spots: Spot[]}} Curve
 * @typedef {{how: string, low: number, high: number, time: number | null, below: string,
 *   above: string, sentence: string}} Crossover
 * @typedef {{name: string, curves: Curve[], bound: Spot[], crossovers: Crossover[]}} Panel
 */

const SVG = "http://www.w3.org/2000/svg";
const [HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [380, 84, 18, 14, 46];
/** The widths of a chart; its letters keep their size on a telephone. */
const [NARROWEST, WIDEST] = [340, 860];
const COLOURS = 8;
const DASHES = ["", "9 3", "3 3", "12 3 3 3", "1 4"];
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** @param {string} name @param {Record<string, string | number>} attributes @param {Element} [parent] */
function draw(name, attributes, parent) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  parent?.append(element);
  return element;
}

/** @param {string} name @param {string} [text] @param {Element} [parent] */
function create(name, text = "", parent) {
  const element = document.createElement(name);
  element.textContent = text;
  parent?.append(element);
  return element;
}

/** @param {number} value */
function format(value) {
  if (value !== 0 && (Math.abs(value) >= 1e7 || Math.abs(value) < 1e-3)) {
    return value.toExponential(4).replace(/\.?0+e/, "e");
  }
  return value.toLocaleString("en", { maximumSignificantDigits: 6 });
}

/** @param {number} power */
function tickText(power) {
  if (power >= 0 && power <= 5) return format(10 ** power);
  const digits = [...String(Math.abs(power))].map((digit) => SUPERSCRIPTS[Number(digit)]).join("");
  return `10${power < 0 ? "⁻" : ""}${digits}`;
}

/** A logarithmic axis from the least to the greatest of some values. */
class Axis {
  /** @param {number[]} values @param {number} from @param {number} to positions of its ends */
  constructor(values, from, to) {
    const logs = values.map(Math.log10);
    this.low = Math.min(...logs);
    this.high = Math.max(...logs);
    if (this.high - this.low < 0.3) {
      this.low -= 0.15;
      this.high += 0.15;
    }
    this.from = from;
    this.to = to;
  }

  /** @param {number} value */
  at(value) {
    const share = (Math.log10(value) - this.low) / (this.high - this.low);
    return this.from + share * (this.to - this.from);
  }

  /** @param {number} position */
  valueAt(position) {
    const share = (position - this.from) / (this.to - this.from);
    return 10 ** (this.low + share * (this.high - this.low));
  }

  /** @returns {{value: number, text: string}[]} */
  ticks() {
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
}

/** @param {number} place */
const colourOf = (place) => `var(--tree-${(place % COLOURS) + 1})`;

/** The chart of a panel with its slider and the table of values. */
class Chart {
  /** @param {Panel} panel @param {Element} parent */
  constructor(panel, parent) {
    this.panel = panel;
    const section = create("section", "", parent);
    create("h2", panel.name, section);
    const positive = [...panel.curves.flatMap((curve) => curve.spots), ...panel.bound].filter(
      (spot) => spot.message_bytes > 0 && spot.time > 0,
    );
    this.sizes = [...new Set(positive.map((spot) => spot.message_bytes))].sort((a, b) => a - b);
    this.place = 0;
    this.width = Math.min(Math.max(parent.clientWidth, NARROWEST), WIDEST);
    if (this.sizes.length > 1) this.drawFigure(section, positive);
    this.readings = this.createReadings(section);
    this.show(this.sizes.length - 1);
    this.listCrossovers(section);
  }

  /** @param {Element} section @param {Spot[]} spots */
  drawFigure(section, spots) {
    const figure = create("figure", "", section);
    this.x = new Axis(this.sizes, LEFT, this.width - RIGHT);
    this.y = new Axis(spots.map((spot) => spot.time), HEIGHT - BOTTOM, TOP);
    const svg = draw("svg", { viewBox: `0 0 ${this.width} ${HEIGHT}`, role: "img" }, figure);
    svg.setAttribute("aria-label", `Time against message size: ${this.panel.name}. The table below has the values.`);
    this.drawAxes(svg);
    for (const crossover of this.panel.crossovers) this.drawRange(svg, crossover);
    this.drawLine(svg, this.panel.bound, { class: "bound" });
    this.panel.curves.forEach((curve, place) => this.drawCurve(svg, curve, place));
    this.cursor = draw("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM }, svg);
    this.panel.crossovers.forEach((crossover, place) => this.drawCrossover(svg, crossover, place));
    svg.addEventListener("pointermove", (event) => this.follow(/** @type {PointerEvent} */ (event), svg));
    svg.addEventListener("pointerdown", (event) => this.follow(/** @type {PointerEvent} */ (event), svg));
    const label = create("label", "message size", section);
    this.slider = /** @type {HTMLInputElement} */ (create("input", "", label));
    Object.assign(this.slider, { type: "range", min: "0", max: String(this.sizes.length - 1), step: "1" });
    this.slider.addEventListener("input", () => this.show(Number(this.slider?.value)));
  }

  /** @param {Element} svg */
  drawAxes(svg) {
    if (!this.x || !this.y) return;
    for (const { value, text } of this.x.ticks()) {
      const x = this.x.at(value);
      draw("line", { class: "grid", x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }, svg);
      draw("text", { x, y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, svg).textContent = text;
    }
    for (const { value, text } of this.y.ticks()) {
      const y = this.y.at(value);
      draw("line", { class: "grid", x1: LEFT, x2: this.width - RIGHT, y1: y, y2: y }, svg);
      draw("text", { x: LEFT - 8, y: y + 4, "text-anchor": "end" }, svg).textContent = text;
    }
    const middle = (TOP + HEIGHT - BOTTOM) / 2;
    const centre = (LEFT + this.width - RIGHT) / 2;
    draw("text", { x: centre, y: HEIGHT - 6, "text-anchor": "middle" }, svg).textContent = "message size in bytes";
    const turned = { x: 16, y: middle, "text-anchor": "middle", transform: `rotate(-90 16 ${middle})` };
    draw("text", turned, svg).textContent = "time";
  }

  /** @param {Element} svg @param {Spot[]} spots @param {Record<string, string>} attributes */
  drawLine(svg, spots, attributes) {
    const points = spots
      .filter((spot) => spot.message_bytes > 0 && spot.time > 0)
      .map((spot) => `${this.x?.at(spot.message_bytes)},${this.y?.at(spot.time)}`);
    return draw("polyline", { points: points.join(" "), fill: "none", ...attributes }, svg);
  }

  /** @param {Element} svg @param {Curve} curve @param {number} place */
  drawCurve(svg, curve, place) {
    const dash = DASHES[place % DASHES.length];
    const stroke = { class: "curve", stroke: colourOf(place) };
    this.drawLine(svg, curve.spots, dash ? { ...stroke, "stroke-dasharray": dash } : stroke);
    for (const spot of curve.spots) {
      if (spot.message_bytes <= 0 || spot.time <= 0) continue;
      const at = { cx: this.x?.at(spot.message_bytes) ?? 0, cy: this.y?.at(spot.time) ?? 0 };
      const mark = draw("circle", { ...at, r: 3.2, fill: colourOf(place) }, svg);
      draw("title", {}, mark).textContent = `${curve.label}: ${format(spot.time)} at ${format(spot.message_bytes)} bytes`;
    }
  }

  /** @param {Element} svg @param {Crossover} crossover */
  drawRange(svg, crossover) {
    if (crossover.how === "at" || !this.x || crossover.low <= 0) return;
    const [from, to] = [this.x.at(crossover.low), this.x.at(crossover.high)];
    draw("rect", { class: "range", x: from, width: Math.max(to - from, 2), y: TOP, height: HEIGHT - BOTTOM - TOP }, svg);
  }

  /** @param {Element} svg @param {Crossover} crossover @param {number} place */
  drawCrossover(svg, crossover, place) {
    if (!this.x || !this.y || crossover.low <= 0) return;
    const size = crossover.how === "at" ? crossover.low : Math.sqrt(crossover.low * crossover.high);
    const cx = this.x.at(size);
    const cy = crossover.time ? this.y.at(crossover.time) : TOP + 14;
    const ring = draw("circle", { class: "crossover", cx, cy, r: 8.5 }, svg);
    draw("title", {}, ring).textContent = crossover.sentence;
    draw("text", { class: "number-mark", x: cx, y: cy + 4 }, svg).textContent = String(place + 1);
  }

  /** @param {Element} section */
  createReadings(section) {
    const region = create("div", "", section);
    region.className = "scroll";
    const table = create("table", "", region);
    table.className = "readings";
    this.caption = create("caption", "", table);
    this.caption.setAttribute("aria-live", "polite");
    const head = create("tr", "", create("thead", "", table));
    for (const name of ["curve", "time", "time / least", "segments"]) {
      const cell = create("th", name, head);
      cell.setAttribute("scope", "col");
      if (name !== "curve") cell.className = "number";
    }
    return create("tbody", "", table);
  }

  /** @param {PointerEvent} event @param {Element} svg */
  follow(event, svg) {
    const box = svg.getBoundingClientRect();
    const wanted = this.x?.valueAt(((event.clientX - box.left) / box.width) * this.width) ?? 0;
    const distances = this.sizes.map((size) => Math.abs(Math.log(size / wanted)));
    const nearest = distances.indexOf(Math.min(...distances));
    if (nearest !== this.place) this.show(nearest);
  }

  /** @param {number} place the number of a message size */
  show(place) {
    const size = this.sizes[place];
    if (size === undefined) return;
    this.place = place;
    if (this.slider) {
      this.slider.value = String(place);
      this.slider.setAttribute("aria-valuetext", `${format(size)} bytes`);
    }
    if (this.cursor && this.x) {
      for (const end of ["x1", "x2"]) this.cursor.setAttribute(end, String(this.x.at(size)));
    }
    if (this.caption) this.caption.textContent = `at a message size of ${format(size)} bytes`;
    const values = this.panel.curves.map((curve) => curve.spots.find((spot) => spot.message_bytes === size));
    const least = Math.min(...values.map((spot) => spot?.time ?? Infinity));
    this.readings.replaceChildren();
    this.panel.curves.forEach((curve, number) => this.addReading(curve.label, values[number], least, colourOf(number)));
    const bound = this.panel.bound.find((spot) => spot.message_bytes === size);
    this.addReading("lower bound", bound, least, "var(--muted)");
  }

  /** @param {string} label @param {Spot | undefined} spot @param {number} least @param {string} colour */
  addReading(label, spot, least, colour) {
    const row = create("tr", "", this.readings);
    const name = create("td", label, row);
    name.style.setProperty("--colour", colour);
    const texts = spot
      ? [format(spot.time), (spot.time / least).toFixed(2), spot.segments === null ? "" : String(spot.segments)]
      : ["", "", ""];
    for (const text of texts) create("td", text, row).className = "number";
    if (spot && spot.time === least) row.classList.add("best");
  }

  /** @param {Element} section */
  listCrossovers(section) {
    const { crossovers } = this.panel;
    if (!crossovers.length) {
      create("p", "No crossovers between the stored message sizes.", section).className = "muted";
      return;
    }
    const list = create("ol", "", section);
    for (const crossover of crossovers) create("li", crossover.sentence, list);
  }
}

/** @param {HTMLElement} element */
async function load(element) {
  const status = create("p", "Loading the curves.", element);
  status.setAttribute("role", "status");
  try {
    const response = await fetch(element.dataset.curves ?? "");
    const data = await response.json();
    if (!response.ok) {
      status.textContent = `${data.detail} (${data.hint})`;
      return;
    }
    status.remove();
    for (const panel of data.panels) new Chart(panel, element);
  } catch {
    status.textContent = "The server does not answer: start it again with 'starcast serve', then reload the page.";
  }
}

for (const element of document.querySelectorAll("[data-curves]")) {
  void load(/** @type {HTMLElement} */ (element));
}
