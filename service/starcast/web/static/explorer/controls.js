/** The controls of the page: buttons, lists and keys. */

import { doesPageScroll } from "./camera.js";
import { togglePaths } from "./disjoint-paths.js";
import { cross, move } from "./navigation.js";
import { save } from "./save.js";

/** @typedef {import("./main.js").Explorer} Explorer */

/** The factor by which a button or key zooms. */
const ZOOM = 1.4;

/** @param {string} id @returns {any} the element, of the type that it has in the page */
export function byId(id) {
  return document.getElementById(id);
}

/** @param {string} tag @param {string} [text] @param {string} [className] @returns {HTMLElement} */
export function element(tag, text = "", className = "") {
  const created = document.createElement(tag);
  created.textContent = text;
  if (className) created.className = className;
  return created;
}

/** @param {HTMLSelectElement} select @param {[string, string][]} entries value and text */
export function fillSelect(select, entries) {
  select.replaceChildren(...entries.map(([value, text]) => new Option(text, value)));
}

/**
 * Fill the list of trees, with a check box for each tree.
 *
 * @param {HTMLElement} host @param {number} count @param {number[]} visible
 * @param {(trees: number[] | null) => void} onChange receives the visible trees, null for all
 */
export function fillTreeList(host, count, visible, onChange) {
  const now = new Set(visible);
  const labels = Array.from({ length: count }, (_, tree) => {
    const label = element("label");
    const input = /** @type {HTMLInputElement} */ (element("input"));
    input.type = "checkbox";
    input.checked = now.has(tree);
    input.addEventListener("change", () => {
      if (input.checked) now.add(tree);
      else now.delete(tree);
      onChange(now.size === count ? null : [...now].sort((left, right) => left - right));
    });
    label.append(input, element("span", "", `swatch tree-${(tree % 8) + 1}`), `tree ${tree}`);
    return label;
  });
  host.replaceChildren(...labels);
}

/** Connect the controls of the page with an explorer. @param {Explorer} explorer */
export function listen(explorer) {
  /** @param {string} id @param {string} type @param {(control: { value: string }) => unknown} action */
  const on = (id, type, action) => {
    byId(id).addEventListener(type, (/** @type {Event} */ event) => {
      // Read the value now, because an earlier action may still set the control to another value.
      const { value } = /** @type {any} */ (event.target);
      explorer.inOrder(() => action({ value }));
    });
  };
  on("layout", "change", async ({ value }) => {
    await explorer.setLayout(value);
    explorer.refresh();
  });
  on("forest", "change", async ({ value }) => {
    if (value && explorer.state.schedule) await explorer.setSchedule("");
    await explorer.setForest(value);
    explorer.refresh();
  });
  on("schedule", "change", async ({ value }) => {
    if (value && explorer.state.forest) await explorer.setForest("");
    await explorer.setSchedule(value);
    explorer.refresh();
  });
  on("source", "change", ({ value }) => {
    explorer.setSource(value === "all" ? "all" : "one");
    explorer.refresh();
  });
  on("unit", "change", ({ value }) => {
    explorer.state.unit = Number(value);
    explorer.refresh();
  });
  on("add-button", "click", async () => {
    const name = byId("add-text").value.trim();
    if (name.includes(":")) await explorer.setSchedule(name);
    else if (name) await explorer.setForest(name);
    explorer.refresh();
  });
  for (const radio of document.querySelectorAll("input[name=links]")) {
    radio.addEventListener("change", () => {
      explorer.state.links = /** @type {any} */ (radio).value;
      explorer.refresh();
    });
  }
  on("step", "input", ({ value }) => {
    explorer.player.stop();
    explorer.goTo(Number(value));
  });
  on("first", "click", () => explorer.goTo(0));
  on("back", "click", () => explorer.goTo(explorer.state.step - 1));
  on("next", "click", () => explorer.goTo(explorer.state.step + 1));
  on("play", "click", () => explorer.player.toggle());
  on("zoom-in", "click", () => explorer.zoom(ZOOM));
  on("zoom-out", "click", () => explorer.zoom(1 / ZOOM));
  for (const button of document.querySelectorAll("[data-pan]")) {
    const [across, down] = /** @type {HTMLElement} */ (button).dataset.pan?.split(",").map(Number) ?? [0, 0];
    button.addEventListener("click", () => explorer.pan(across, down));
  }
  on("fit", "click", () => explorer.drawing && explorer.camera.fit(explorer.drawing.bounds()));
  on("save-svg", "click", () => save(explorer, "svg"));
  on("save-png", "click", () => save(explorer, "png"));
  byId("find").addEventListener("submit", () => {
    const text = byId("find-text").value;
    const node = explorer.network.find(text);
    explorer.problems = node < 0 ? [`${explorer.network.data.spec} has no node '${text}'`] : [];
    explorer.showProblems();
    if (node >= 0) explorer.select(node);
  });
  addEventListener("keydown", (event) => onKey(explorer, event));
  // These events mean that the user has edited the address or gone back.
  addEventListener(explorer.source.isComplete ? "hashchange" : "popstate", () => {
    explorer.inOrder(() => explorer.open(explorer.address));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => explorer.refresh());
  new ResizeObserver(() => {
    if (explorer.camera.isFitted && explorer.drawing) explorer.camera.fit(explorer.drawing.bounds());
    else explorer.camera.recentre();
  }).observe(explorer.stage);
  // A self-contained page has no home page, so the link is removed. On a published site the link is not "../".
  const home = document.querySelector(".home");
  if (explorer.source.isComplete && home?.getAttribute("href") === "../") home.removeAttribute("href");
}

/** @param {Explorer} explorer @param {KeyboardEvent} event */
function onKey(explorer, event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target.matches("input:not([type=checkbox]):not([type=radio]), select, textarea")) return;
  // Speech input, or keys pressed by accident, can trigger single-key commands.
  if (/^[^ ]$/.test(event.key) && !byId("single-keys").checked) return;
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const isInside = explorer.stage.contains(target) || (target === document.body && !doesPageScroll());
  if (event.key in arrows && isInside) {
    const [dx, dy] = arrows[/** @type {keyof typeof arrows} */ (event.key)];
    if (event.shiftKey) explorer.pan(-dx, -dy);
    else move(explorer, dx, dy);
  } else if (/^[1-9]$/.test(event.key)) cross(explorer, Number(event.key));
  else if (event.key === ".") explorer.goTo(explorer.state.step + 1);
  else if (event.key === ",") explorer.goTo(explorer.state.step - 1);
  else if (event.key === "+") explorer.zoom(ZOOM);
  else if (event.key === "-") explorer.zoom(1 / ZOOM);
  else if (event.key === "p") explorer.player.toggle();
  else if (event.key === "x") explorer.toggleFault();
  else if (event.key === "d") togglePaths(explorer);
  else if (event.key === "f" && explorer.drawing) explorer.camera.fit(explorer.drawing.bounds());
  else if (event.key === "Escape") explorer.selectLink(-1);
  else if ((event.key === "Enter" || event.key === " ") && target.dataset.node) {
    explorer.select(explorer.network.find(target.dataset.node));
  } else return;
  event.preventDefault();
}
