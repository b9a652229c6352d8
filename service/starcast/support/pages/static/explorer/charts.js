/** Charts of a schedule: steps from left to right, in the page's colours. */

import { countOf, element, svgElement } from "../elements.js";

/** @import { Replay } from "./replay.js" */

const WIDTH = 320;
const HEIGHT = 84;
const LEFT = 34;
const BOTTOM = 14;

/** @param {number} x @param {number} y @param {string} text @param {string} anchor */
function write(x, y, text, anchor) {
  return svgElement("text", { x, y, "text-anchor": anchor, class: "axis" }, text);
}

/** @param {Record<string, string | number>} attributes @param {string} text shown when the pointer rests on the box */
function box(attributes, text) {
  return svgElement("rect", attributes, svgElement("title", {}, text));
}

/** @param {number} height */
function cursor(height) {
  return svgElement("rect", { y: 1, height: height - BOTTOM - 1, class: "cursor" });
}

/** @param {HTMLElement} host @param {number} step 0 for none @param {number} steps */
export function moveCursors(host, step, steps) {
  const width = (WIDTH - LEFT) / Math.max(steps, 1);
  for (const each of host.querySelectorAll(".cursor")) {
    each.setAttribute("x", String(LEFT + (step - 1) * width));
    each.setAttribute("width", String(step ? width : 0));
  }
}

/**
 * @param {string} title @param {string} description @param {number} height
 * @param {number} steps @param {(step: number) => void} onStep receives the step at which the chart is clicked
 * @param {SVGElement[]} parts
 */
function chart(title, description, height, steps, onStep, parts) {
  const name = { role: "img", class: "chart", "aria-label": `${title}. ${description}` };
  const svg = svgElement("svg", { viewBox: `0 0 ${WIDTH} ${height}`, ...name, "font-size": 9 }, ...parts);
  svg.append(write(LEFT, height - 3, "1", "start"));
  if (steps > 1) svg.append(write(WIDTH - 1, height - 3, `step ${steps}`, "end"));
  svg.addEventListener("click", (event) => {
    const { left, width } = svg.getBoundingClientRect();
    const x = ((event.clientX - left) / width) * WIDTH;
    onStep(Math.min(Math.max(Math.ceil(((x - LEFT) / (WIDTH - LEFT)) * steps), 1), steps));
  });
  return element("figure", {}, element("figcaption", {}, title), svg);
}

/** @param {string} title @param {Int32Array} values @param {(step: number) => void} onStep @param {string} noun */
function bars(title, values, onStep, noun) {
  const steps = values.length;
  const greatest = values.reduce((most, value) => Math.max(most, value), 1);
  const width = (WIDTH - LEFT) / steps;
  const boxes = [...values].map((value, index) => {
    const height = (value / greatest) * (HEIGHT - BOTTOM - 6);
    const x = LEFT + index * width + Math.min(width * 0.1, 1);
    const place = { x, y: HEIGHT - BOTTOM - height, width: width - Math.min(width * 0.2, 2), height };
    return box({ ...place, class: "bar" }, `step ${index + 1}: ${countOf(value, noun)}`);
  });
  const limits = [write(LEFT - 4, 12, String(greatest), "end"), write(LEFT - 4, HEIGHT - BOTTOM, "0", "end")];
  const text = `${noun}s by step: ${steps > 40 ? `at most ${greatest}` : values.join(", ")}`;
  return chart(title, text, HEIGHT, steps, onStep, [cursor(HEIGHT), ...boxes, ...limits]);
}

/** @param {Replay} replay @param {(step: number) => void} onStep */
function heatMap({ figures: { byPort }, steps, network }, onStep) {
  const { ports } = network.data;
  const row = 13;
  const height = ports.length * row + BOTTOM + 4;
  const greatest = Math.max(1, ...byPort.map((counts) => counts.reduce((a, b) => Math.max(a, b), 0)));
  const width = (WIDTH - LEFT) / steps;
  const wide = Math.max(width - Math.min(width * 0.1, 1), 0.5);
  const parts = byPort.flatMap((counts, index) => {
    const cells = [...counts].flatMap((count, at) => {
      const place = { x: LEFT + at * width, y: index * row + 2, width: wide, height: row - 1 };
      // The colours of trees would suggest that port 2 belongs to tree 0.
      const look = { class: "bar", "fill-opacity": 0.2 + (0.8 * count) / greatest };
      return count ? [box({ ...place, ...look }, `step ${at + 1}, port ${ports[index]}: ${countOf(count, "unit")}`)] : [];
    });
    return [write(LEFT - 4, index * row + 11, String(ports[index]), "end"), ...cells];
  });
  const text = ports.map((port, index) => `port ${port}: ${countOf(byPort[index].reduce((a, b) => a + b, 0), "unit")}`);
  return chart("Units by port and step", text.join(", "), height, steps, onStep, [...parts, cursor(height)]);
}

/** @param {HTMLElement} host @param {Replay} replay @param {(step: number) => void} onStep */
export function drawCharts(host, replay, onStep) {
  const { linksUsed, greatestLoad } = replay.figures;
  const charts = () => [
    bars("Directed links busy", linksUsed, onStep, "link"),
    heatMap(replay, onStep),
    bars("Greatest load of a directed link so far", greatestLoad, onStep, "unit"),
  ];
  host.replaceChildren(...(replay.steps ? charts() : []));
}
