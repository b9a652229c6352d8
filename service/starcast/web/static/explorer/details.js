/** The texts next to the picture: the selection, the faults, and the units missing because of faults. */

import { element } from "./controls.js";
import { togglePaths } from "./disjoint-paths.js";
import { faultText } from "./state.js";

/** @typedef {import("./main.js").Explorer} Explorer */

const MOST_UNITS = 24;

/** @param {number} count @param {string} noun @returns {string} such as `2 units` */
function countOf(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** @param {number} missing @returns {string} such as `2 units are missing` */
export function missingText(missing) {
  return `${countOf(missing, "unit")} ${missing === 1 ? "is" : "are"} missing`;
}

/** @param {string} text @param {() => void} action @param {string} [className] @returns {HTMLElement} */
function button(text, action, className = "") {
  const created = /** @type {HTMLButtonElement} */ (element("button", text, className));
  created.type = "button";
  created.addEventListener("click", action);
  return created;
}

/** @param {Explorer} explorer @returns {HTMLElement} */
function faultButton(explorer) {
  const { node, faults, step } = explorer.state;
  const isDown = faults.some((fault) => (node >= 0 ? fault.node === node : fault.link === explorer.selectedLink));
  const when = step > 1 ? `from step ${step} on` : "from the start";
  return button(isDown ? "Repair" : `Fail ${when}`, () => explorer.toggleFault());
}

/** @param {HTMLElement} host @param {Explorer} explorer */
export function showSelection(host, explorer) {
  const { network } = explorer;
  const { node } = explorer.state;
  const active = /** @type {HTMLElement | null} */ (document.activeElement);
  const focused = host.contains(active) ? active?.textContent : null;
  if (node < 0 && explorer.selectedLink < 0) {
    const text = "Click a node or a link, or move with the arrow keys. A digit crosses the port of that number.";
    host.replaceChildren(element("p", text, "note"));
    return;
  }
  if (node < 0) {
    const line = element("p", "Link ");
    line.append(element("code", network.linkText(explorer.selectedLink)), " ", faultButton(explorer));
    host.replaceChildren(line);
  } else host.replaceChildren(...describeNode(node, explorer));
  if (focused) [...host.querySelectorAll("button")].find((each) => each.textContent === focused)?.focus();
}

/** @param {number} node @param {Explorer} explorer @returns {HTMLElement[]} */
function describeNode(node, explorer) {
  const { network } = explorer;
  const head = element("p", "Node ");
  head.append(element("code", network.labels[node]), ` (rank ${node}) `, faultButton(explorer));
  const parts = [head];
  const links = element("p", "Ports: ", "note");
  network.data.ports.forEach((port, index) => {
    const other = network.neighbors[node * network.portCount + index];
    links.append(`${port} `, button(network.labels[other], () => explorer.select(other, port), "link-button"), " ");
  });
  parts.push(links);
  if (explorer.replay) parts.push(describeUnits(node, explorer));
  parts.push(...describeDisjointPaths(explorer));
  if (explorer.forest) parts.push(...describePaths(node, explorer));
  return parts;
}

/** @param {number} node @param {Explorer} explorer @returns {HTMLElement} */
function describeUnits(node, explorer) {
  const replay = /** @type {NonNullable<Explorer["replay"]>} */ (explorer.replay);
  const units = replay.unitsAt(node, explorer.state.step);
  const few = units.slice(0, MOST_UNITS).join(", ");
  const more = units.length > MOST_UNITS ? " and more" : "";
  if (replay.reduces) {
    const { held, complete } = replay.contributionsAfter(explorer.state.unit, explorer.state.step);
    const state = held[node] === complete ? "Complete" : "Incomplete";
    const text = `${state}: ${held[node]} of ${complete} contributions; complete units: ${few || "none"}${more}.`;
    return element("p", text, "note units");
  }
  const text = units.length ? `Holds ${countOf(units.length, "unit")}: ${few}${more}` : "Holds no units";
  return element("p", `${text}.`, "note units");
}

/** @param {number[][]} paths @returns {string} such as `3 disjoint paths of 2, 4 and 4 hops` */
export function pathsText(paths) {
  const hops = paths.map((path) => path.length);
  const last = hops.pop();
  const list = hops.length ? `${hops.join(", ")} and ${last}` : `${last}`;
  return `${countOf(paths.length, "disjoint path")} of ${list} hops`;
}

/** @param {Explorer} explorer @returns {HTMLElement[]} */
function describeDisjointPaths(explorer) {
  const { network } = explorer;
  const { paths, state } = explorer;
  if (state.from < 0) {
    const line = element("p", "");
    line.append(button("Disjoint paths from here", () => togglePaths(explorer)));
    return [line];
  }
  const first = network.labels[state.from];
  const line = element("p", paths ? `${pathsText(paths)} from ${first}: ` : `Disjoint paths from ${first}: select another node. `);
  line.append(button("Hide paths", () => togglePaths(explorer)));
  if (!paths) return [line];
  const list = element("ul", "", "hops disjoint");
  paths.forEach((path, at) => list.append(hopLine(explorer, at, "", state.from, path)));
  return [line, list];
}

/**
 * @param {Explorer} explorer @param {number} colour @param {string} name
 * @param {number} start @param {number[] | null} path the arcs from start, or null for none
 * @returns {HTMLElement} a path hop by hop
 */
function hopLine(explorer, colour, name, start, path) {
  const { network } = explorer;
  const line = element("li");
  line.append(element("span", "", `swatch tree-${(colour % 8) + 1}`), name);
  if (path === null) {
    line.append("not in this tree");
    return line;
  }
  line.append(button(network.labels[start], () => explorer.select(start), "link-button"));
  for (const arc of path) {
    const other = network.neighbors[arc];
    const port = network.data.ports[arc % network.portCount];
    line.append(` –${port}→ `, button(network.labels[other], () => explorer.select(other, port), "link-button"));
  }
  line.append(` (${path.length} hops)`);
  return line;
}

/** @param {number} node @param {Explorer} explorer @returns {HTMLElement[]} */
function describePaths(node, explorer) {
  const forest = /** @type {NonNullable<Explorer["forest"]>} */ (explorer.forest);
  const list = element("ul", "", "hops");
  for (const tree of explorer.visibleTrees) {
    list.append(hopLine(explorer, tree, `tree ${tree}: `, forest.data.root, forest.path(tree, node)));
  }
  return [element("p", "Paths from the root, hop by hop:"), list];
}

/** @param {HTMLElement} host @param {Explorer} explorer */
export function showFaults(host, explorer) {
  const { network } = explorer;
  const { faults } = explorer.state;
  if (!faults.length) {
    host.replaceChildren(element("p", "None. Select a node or a link and let it fail.", "note"));
    return;
  }
  const list = element("ul", "", "hops");
  faults.forEach((fault, at) => {
    const line = element("li");
    const text = faultText(network, fault);
    const remove = button("repair", () => explorer.removeFault(at), "link-button");
    remove.setAttribute("aria-label", `repair ${text}`);
    line.append(element("code", text), " ", remove);
    list.append(line);
  });
  const parts = [list];
  const { result, replay } = explorer;
  if (result && replay) {
    const nodes = result.perNode.reduce((count, missing) => count + Number(missing > 0), 0);
    const text = result.missing
      ? `${missingText(result.missing)} at ${countOf(nodes, "node")}.`
      : "Every live node still receives all of its units.";
    const line = element("p", text, "result");
    line.dataset.missing = String(result.missing);
    parts.push(line);
    if (result.missing) parts.push(listMissing(explorer));
    if (explorer.schedule?.data.symmetric && explorer.state.source === "one") {
      parts.push(element("p", "These are the units of one source.", "note"));
    }
  }
  host.replaceChildren(...parts);
}

/** @param {Explorer} explorer @returns {HTMLElement} */
function listMissing(explorer) {
  const { network } = explorer;
  const line = element("p", "", "note undelivered");
  const { undelivered, missing } = /** @type {NonNullable<Explorer["result"]>} */ (explorer.result);
  undelivered.forEach(([node, unit], at) => {
    line.append(at ? ", " : "", `unit ${unit} at `, button(network.labels[node], () => explorer.select(node), "link-button"));
  });
  if (missing > undelivered.length) line.append(", …");
  return line;
}
