/** User actions: buttons, lists and keys, moving from node to node, playing a schedule, saving the picture. */

import { byId, element, svgElement, treeColour, update } from "../elements.js";
import { doesPageScroll } from "./camera.js";
import { report, swatch } from "./details.js";
import { css } from "./scene.js";
import { SvgView } from "./svg-view.js";

/** @import { Explorer } from "./main.js" */
/** @import { Scene } from "./scene.js" */

/** The factor by which a button or key zooms. */
const ZOOM = 1.4;
/** The smallest cosine of the angle between a link and an arrow key at which the key follows the link. */
const LEAST_LIKENESS = 0.2;
const STEP_SECONDS = 0.9;
/** The position on its link at which a packet is drawn while nothing moves. */
export const PACKET_AT_REST = 0.55;

/** @type {[button: string, key: string, action: (explorer: Explorer) => unknown][]} */
const COMMANDS = [
  ["first", "", (explorer) => explorer.goTo(0)],
  ["back", ",", (explorer) => explorer.goTo(explorer.state.step - 1)],
  ["next", ".", (explorer) => explorer.goTo(explorer.state.step + 1)],
  ["play", "p", (explorer) => togglePlaying(explorer)],
  ["zoom-in", "+", (explorer) => explorer.camera.zoom(ZOOM)],
  ["zoom-out", "-", (explorer) => explorer.camera.zoom(1 / ZOOM)],
  ["fit", "f", (explorer) => explorer.camera.fit()],
  ["save-svg", "", (explorer) => save(explorer, "svg")],
  ["save-png", "", (explorer) => save(explorer, "png")],
  ["", "x", (explorer) => explorer.toggleFault()],
  ["", "d", (explorer) => explorer.togglePaths()],
  ["", "Escape", (explorer) => explorer.selectLink(-1)],
];

/** @type {Record<string, [dx: number, dy: number]>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** @param {HTMLSelectElement} select @param {string[]} texts @param {string[]} [values] */
export function fillSelect(select, texts, values = texts) {
  select.replaceChildren(...texts.map((text, at) => new Option(text, values[at])));
}

/** Fill the list of trees, with a check box for each tree. @param {number} count @param {number[]} visible */
export function fillTreeList(count, visible) {
  const labels = Array.from({ length: count }, (_, tree) => {
    const input = /** @type {HTMLInputElement} */ (element("input", { type: "checkbox" }));
    input.checked = visible.includes(tree);
    return element("label", {}, input, swatch({ background: treeColour(tree) }), `tree ${tree}`);
  });
  byId("tree-list").replaceChildren(...labels);
}

/** Connect the controls of the page with an explorer. @param {Explorer} explorer */
export function listen(explorer) {
  /** @param {string} id @param {string} type @param {(value: string) => unknown} action */
  const on = (id, type, action) => {
    byId(id).addEventListener(type, (/** @type {Event} */ event) => {
      // Read the value now, because an earlier action may still set the control to another value.
      const { value } = /** @type {any} */ (event.target);
      explorer.inOrder(() => action(value));
    });
  };
  /** @param {string} id @param {(value: string) => unknown} action that changes the state */
  const onChange = (id, action) => on(id, "change", async (value) => {
    await action(value);
    await explorer.followRoot();
    explorer.refresh();
  });
  onChange("layout", (name) => {
    explorer.state.root = -1;
    return explorer.setLayout(name);
  });
  onChange("forest", async (name) => {
    if (name && explorer.state.schedule) await explorer.setSchedule("");
    await explorer.setForest(name);
  });
  onChange("schedule", async (name) => {
    if (name && explorer.state.forest) await explorer.setForest("");
    await explorer.setSchedule(name);
  });
  onChange("source", (value) => explorer.setSource(value === "all" ? "all" : "one"));
  onChange("unit", (value) => (explorer.state.unit = Number(value)));
  on("add-button", "click", async () => {
    const name = byId("add-text").value.trim();
    if (name.includes(":")) await explorer.setSchedule(name);
    else if (name) await explorer.setForest(name);
    await explorer.followRoot();
    explorer.refresh();
  });
  byId("trees").addEventListener("change", (/** @type {Event} */ { target }) => {
    const { name, value } = /** @type {any} */ (target);
    const boxes = [...byId("tree-list").querySelectorAll("input")];
    const trees = boxes.flatMap((box, tree) => (box.checked ? [tree] : []));
    if (name === "links") explorer.state.links = value;
    else explorer.state.trees = trees.length === boxes.length ? null : trees;
    explorer.refresh();
  });
  on("step", "input", (value) => {
    stopPlaying(explorer);
    explorer.goTo(Number(value));
  });
  for (const [button, , action] of COMMANDS) if (button) on(button, "click", () => action(explorer));
  for (const button of document.querySelectorAll("[data-pan]")) {
    const [across, down] = /** @type {HTMLElement} */ (button).dataset.pan?.split(",").map(Number) ?? [0, 0];
    button.addEventListener("click", () => pan(explorer, across, down));
  }
  byId("find").addEventListener("submit", () => {
    const text = byId("find-text").value;
    const node = explorer.network.find(text);
    byId("notices").replaceChildren();
    if (node < 0) report(`${explorer.network.data.spec} has no node '${text}'`);
    else explorer.select(node);
  });
  addEventListener("keydown", (event) => onKey(explorer, event));
  // These events mean that the user has edited the address or gone back.
  addEventListener(explorer.source.isComplete ? "hashchange" : "popstate", () => {
    explorer.inOrder(() => explorer.open(explorer.address));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => explorer.refresh());
  new ResizeObserver(() => {
    const { camera, drawing } = explorer;
    if (camera.isFitted && drawing) camera.fit();
    else camera.show(...camera.centre, camera.scale, camera.isFitted); // keeps the centre of the view
  }).observe(explorer.stage);
  // A self-contained page has no home page, so the link is removed. On a published site the link is not "../".
  const home = document.querySelector(".home");
  if (explorer.source.isComplete && home?.getAttribute("href") === "../") home.removeAttribute("href");
}

/** @param {Explorer} explorer @param {KeyboardEvent} event */
function onKey(explorer, event) {
  const target = /** @type {HTMLElement} */ (event.target);
  const { key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target.matches("input:not([type=checkbox]):not([type=radio]), select, textarea")) return;
  // Speech input, or keys pressed by accident, can trigger single-key commands.
  if (/^[^ ]$/.test(key) && !byId("single-keys").checked) return;
  const isInside = explorer.stage.contains(target) || (target === document.body && !doesPageScroll());
  const command = key ? COMMANDS.find(([, each]) => each === key) : undefined;
  if (key in ARROWS && isInside) {
    const [dx, dy] = ARROWS[key];
    if (event.shiftKey) pan(explorer, -dx, -dy);
    else move(explorer, dx, dy);
  } else if (/^[1-9]$/.test(key)) cross(explorer, Number(key));
  else if (command) command[2](explorer);
  else if ((key === "Enter" || key === " ") && target.dataset.node) {
    explorer.select(explorer.network.find(target.dataset.node));
  } else return;
  event.preventDefault();
}

/** @param {Explorer} explorer @param {number} across @param {number} down how far the picture moves, in quarters of the window */
function pan({ camera, stage }, across, down) {
  camera.move((across * stage.clientWidth) / 4, (down * stage.clientHeight) / 4);
}

/** @param {Explorer} explorer @returns {number} the selected node, or else the focused node, or else -1 after selecting the root */
function currentNode(explorer) {
  const { state, drawing, network, scene } = explorer;
  if (state.node >= 0) return state.node;
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  const label = drawing?.isQuotient ? "" : focused?.dataset.node;
  if (label) return network.find(label);
  explorer.select(Math.max(scene?.marks.root ?? 0, 0));
  return -1;
}

/** @param {Explorer} explorer @param {number} port */
function cross(explorer, port) {
  const { network } = explorer;
  const index = network.data.ports.indexOf(port);
  const node = index < 0 ? -1 : currentNode(explorer);
  if (node < 0) return;
  const next = network.neighbours[node * network.portCount + index];
  if (next === node) explorer.announce(`no link at port ${port}`);
  else explorer.select(next, port);
}

/** Cross the port whose link is closest to a direction. @param {Explorer} explorer @param {number} dx @param {number} dy */
function move(explorer, dx, dy) {
  const { network, drawing } = explorer;
  const node = drawing ? currentNode(explorer) : -1;
  if (!drawing || node < 0) return;
  let best = LEAST_LIKENESS;
  let port = 0;
  for (const arc of network.arcsFrom(node)) {
    const [from, to] = [drawing.itemOf[node], drawing.itemOf[network.neighbours[arc]]];
    const x = drawing.x[to] - drawing.x[from];
    const y = drawing.y[to] - drawing.y[from];
    const likeness = (x * dx + y * dy) / (Math.hypot(x, y) || 1);
    if (likeness <= best) continue;
    best = likeness;
    port = network.portOf(arc);
  }
  if (port) cross(explorer, port);
  else explorer.announce("no link leads in that direction");
}

/** Show whether a schedule is played. @param {Explorer} explorer @param {number} frame the requested animation frame, or 0 */
function setFrame(explorer, frame) {
  explorer.playing = frame;
  byId("play").textContent = frame ? "⏸" : "▶";
  byId("play").setAttribute("aria-label", frame ? "Pause" : "Play");
}

/** Play the steps of a schedule, with packets that move along the links, or pause. @param {Explorer} explorer */
function togglePlaying(explorer) {
  if (explorer.playing) {
    stopPlaying(explorer);
    return explorer.refresh();
  }
  const steps = explorer.replay?.steps ?? 0;
  if (!steps) return;
  if (explorer.state.step >= steps) explorer.goTo(0);
  const isReduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let step = 0; // the step that is played, or 0 before its first frame
  let start = 0;
  /** @param {number} time */
  const frame = (time) => {
    if (!step) {
      if (explorer.state.step >= steps) return stopPlaying(explorer);
      step = explorer.state.step + 1;
      start = time;
      if (!isReduced) explorer.paint(step, step - 1);
    }
    const seconds = STEP_SECONDS / Number(byId("speed").value);
    const progress = (time - start) / 1000 / seconds;
    if (progress >= 1) {
      explorer.goTo(step);
      step = 0;
    } else if (!isReduced) {
      explorer.progress = progress;
      explorer.draw();
    }
    explorer.playing = requestAnimationFrame(frame);
  };
  setFrame(explorer, requestAnimationFrame(frame));
}

/** @param {Explorer} explorer */
export function stopPlaying(explorer) {
  cancelAnimationFrame(explorer.playing); // otherwise two loops run after a quick stop and start
  setFrame(explorer, 0);
}

/** Save the visible picture in a file. @param {Explorer} explorer @param {"svg" | "png"} kind */
async function save(explorer, kind) {
  const { scene, view, state, stage } = explorer;
  if (!scene) return;
  const parts = [explorer.network.data.spec, state.schedule || state.forest, state.step ? `step-${state.step}` : ""];
  const name = parts.filter(Boolean).join("-").replace(/[^A-Za-z0-9,=-]+/g, "-");
  let blob = null;
  if (kind === "png" && view && !(view instanceof SvgView)) {
    explorer.draw(); // the browser may clear a canvas after showing it, so its content is drawn again
    blob = await pngOf(view.canvas);
  } else {
    blob = svgOf(explorer, scene);
    if (kind === "png") blob = await pngOf(await rasterize(blob, stage));
  }
  if (!blob) throw new Error("the picture is too large");
  const href = URL.createObjectURL(blob);
  element("a", { href, download: `${name}.${kind}` }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}

/** @param {Explorer} explorer @param {Scene} scene @returns {Blob} the picture as SVG, with all colours in it */
function svgOf({ camera, progress, stage: { clientWidth: width, clientHeight: height } }, scene) {
  const view = new SvgView(document.createElement("div"));
  const { svg } = view;
  view.draw(scene, camera, progress);
  svg.prepend(svgElement("rect", { width: "100%", height: "100%", fill: css(scene.theme.paper) }));
  update(svg, { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  for (const each of svg.querySelectorAll("[tabindex]")) {
    for (const name of ["role", "tabindex", "aria-pressed", "aria-label", "class"]) each.removeAttribute(name);
  }
  return new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" });
}

/** @param {Blob} picture as SVG @param {HTMLElement} stage @returns {Promise<HTMLCanvasElement>} the picture in double size */
async function rasterize(picture, { clientWidth: width, clientHeight: height }) {
  const image = new Image();
  image.src = URL.createObjectURL(picture);
  await image.decode();
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: 2 * width, height: 2 * height });
  canvas.getContext("2d")?.drawImage(image, 0, 0, 2 * width, 2 * height);
  URL.revokeObjectURL(image.src);
  return canvas;
}

/** @param {HTMLCanvasElement} canvas @returns {Promise<Blob | null>} its content, or null if it is too large */
const pngOf = (canvas) => new Promise((resolve) => canvas.toBlob(resolve));
