/** Charts of a schedule: steps from left to right, in the page's colours. */

import { element } from "./controls.js";
import { svgElement } from "./svg-view.js";

/** @typedef {import("./replay.js").Replay} Replay */

const WIDTH = 320;
const HEIGHT = 84;
const LEFT = 34;
const BOTTOM = 14;

/**
 * @param {string} title @param {string} description @param {number} height
 * @param {number} steps @param {(step: number) => void} onStep
 * @returns {{figure: HTMLElement, svg: SVGElement}}
 */
function frame(title, description, height, steps, onStep) {
  const svg = svgElement("svg", {
    viewBox: `0 0 ${WIDTH} ${height}`,
    role: "img",
    class: "chart",
    "aria-label": `${title}. ${description}`,
    "font-size": 9,
  });
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const x = (((/** @type {MouseEvent} */ (event).clientX) - box.left) / box.width) * WIDTH;
    const step = Math.ceil(((x - LEFT) / (WIDTH - LEFT)) * steps);
    onStep(Math.min(Math.max(step, 1), steps));
  });
  const figure = element("figure");
  figure.append(element("figcaption", title), svg);
  return { figure, svg };
}

/** @param {SVGElement} svg @param {number} x @param {number} y @param {string} text @param {string} anchor */
function write(svg, x, y, text, anchor) {
  const element = svgElement("text", { x, y, "text-anchor": anchor, class: "axis" });
  element.textContent = text;
  svg.append(element);
}

/** @param {SVGElement} svg @param {Record<string, string | number>} attributes @param {string} text shown when the pointer rests on it */
function addBox(svg, attributes, text) {
  const name = svgElement("title");
  name.textContent = text;
  svg.append(svgElement("rect", attributes, name));
}

/** @param {SVGElement} svg @param {number} height */
function addCursor(svg, height) {
  svg.append(svgElement("rect", { y: 1, height: height - BOTTOM - 1, class: "cursor" }));
}

/** @param {HTMLElement} host @param {number} step 0 for none @param {number} steps */
export function moveCursors(host, step, steps) {
  const width = (WIDTH - LEFT) / Math.max(steps, 1);
  for (const cursor of host.querySelectorAll(".cursor")) {
    cursor.setAttribute("x", String(LEFT + (step - 1) * width));
    cursor.setAttribute("width", String(step ? width : 0));
  }
}

/** @param {SVGElement} svg @param {number} steps @param {number} height */
function labelSteps(svg, steps, height) {
  write(svg, LEFT, height - 3, "1", "start");
  if (steps > 1) write(svg, WIDTH - 1, height - 3, `step ${steps}`, "end");
}

/**
 * @param {string} title @param {Int32Array} values
 * @param {(step: number) => void} onStep @param {string} noun
 * @returns {HTMLElement}
 */
function bars(title, values, onStep, noun) {
  const steps = values.length;
  const greatest = values.reduce((most, value) => Math.max(most, value), 1);
  const text = `${noun} by step: ${steps > 40 ? `at most ${greatest}` : values.join(", ")}`;
  const { figure, svg } = frame(title, text, HEIGHT, steps, onStep);
  addCursor(svg, HEIGHT);
  const width = (WIDTH - LEFT) / steps;
  const tall = HEIGHT - BOTTOM - 6;
  values.forEach((value, index) => {
    const height = (value / greatest) * tall;
    const x = LEFT + index * width + Math.min(width * 0.1, 1);
    const place = { x, y: HEIGHT - BOTTOM - height, width: width - Math.min(width * 0.2, 2), height };
    addBox(svg, { ...place, class: "bar" }, `step ${index + 1}: ${value} ${noun}`);
  });
  write(svg, LEFT - 4, 12, String(greatest), "end");
  write(svg, LEFT - 4, HEIGHT - BOTTOM, "0", "end");
  labelSteps(svg, steps, HEIGHT);
  return figure;
}

/** @param {Replay} replay @param {(step: number) => void} onStep @returns {HTMLElement} */
function heatMap(replay, onStep) {
  const { byPort } = replay.profile();
  const { steps } = replay;
  const { ports } = replay.network.data;
  const row = 13;
  const height = ports.length * row + BOTTOM + 4;
  const greatest = byPort.reduce((most, counts) => counts.reduce((a, b) => Math.max(a, b), most), 1);
  const text = ports.map((port, index) => `port ${port}: ${byPort[index].reduce((a, b) => a + b, 0)} units`);
  const { figure, svg } = frame("Units by port and step", text.join(", "), height, steps, onStep);
  const width = (WIDTH - LEFT) / steps;
  byPort.forEach((counts, index) => {
    write(svg, LEFT - 4, index * row + 11, String(ports[index]), "end");
    counts.forEach((count, at) => {
      if (!count) return;
      const wide = Math.max(width - Math.min(width * 0.1, 1), 0.5);
      const place = { x: LEFT + at * width, y: index * row + 2, width: wide, height: row - 1 };
      const look = { class: `cell tree-${(index % 8) + 1}`, "fill-opacity": 0.2 + (0.8 * count) / greatest };
      addBox(svg, { ...place, ...look }, `step ${at + 1}, port ${ports[index]}: ${count} units`);
    });
  });
  addCursor(svg, height);
  labelSteps(svg, steps, height);
  return figure;
}

/**
 * @param {HTMLElement} host @param {Replay} replay
 * @param {(step: number) => void} onStep
 */
export function drawCharts(host, replay, onStep) {
  const figures = replay.profile();
  if (!replay.steps) {
    host.replaceChildren();
    return;
  }
  host.replaceChildren(
    bars("Directed links busy", figures.linksUsed, onStep, "links"),
    heatMap(replay, onStep),
    bars("Greatest load of a directed link so far", figures.greatestLoad, onStep, "units"),
  );
}
