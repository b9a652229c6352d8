/** The texts next to the picture: the legend, the selection, the faults, and the units missing because of faults. */

import { byId, countOf, element, treeColour } from "../elements.js";
import { faultText } from "./state.js";

/** @import { Explorer } from "./main.js" */
/** @import { Replay } from "./replay.js" */
/** @import { Scene } from "./scene.js" */
/** @import { State } from "./state.js" */

const MOST_UNITS = 24;

/** @param {number} missing @returns {string} such as `2 units are missing` */
export function missingText(missing) {
  return `${countOf(missing, "unit")} ${missing === 1 ? "is" : "are"} missing`;
}

/** @param {number[][]} paths @returns {string} such as `3 disjoint paths of 2, 4 and 4 hops` */
export function pathsText(paths) {
  const hops = paths.map((path) => path.length);
  const last = countOf(hops.pop() ?? 0, "hop");
  return `${countOf(paths.length, "disjoint path")} of ${hops.length ? `${hops.join(", ")} and ${last}` : last}`;
}

/** @param {Int16Array} load how many trees use each arc @returns {string} such as `Directed links by load: 0: 3, 1: 69` */
export function loadText(load) {
  /** @type {number[]} */
  const counts = [];
  for (const trees of load) counts[trees] = (counts[trees] ?? 0) + 1;
  const parts = counts.flatMap((links, trees) => `${trees}: ${links.toLocaleString("en")}`); // skips loads without links
  return `Directed links by load: ${parts.join(", ")}`;
}

/** @param {string} text @param {() => void} action @param {Record<string, string>} [attributes] @returns {HTMLElement} */
function button(text, action, attributes = {}) {
  const created = element("button", { ...attributes, type: "button" }, text);
  created.addEventListener("click", action);
  return created;
}

/** A button that looks like a link. @param {string} text @param {() => void} action @param {Record<string, string>} [attributes] */
const linkButton = (text, action, attributes = {}) => button(text, action, { class: "link-button", ...attributes });

/** @param {string} text */
const note = (text) => element("p", { class: "note" }, text);

/** Show a sentence above the picture. @param {string} problem */
export function report(problem) {
  byId("notices").append(element("p", {}, problem));
}

/** @param {Record<string, string>} style @returns {HTMLElement} a sample of a line or node */
export function swatch(style) {
  const created = element("span", { class: "swatch" });
  Object.assign(created.style, style); // the security policy of the page permits no style attributes
  return created;
}

/** Describe the colours, widths and outlines of a picture. @param {Scene | null} scene */
export function showLegend(scene) {
  const entries = (scene?.legend ?? []).map(([text, sample]) => element("span", {}, swatch(sample), text));
  byId("legend").replaceChildren(...entries);
}

/** Describe the picture in a line that is shown only on a printed page, which has no controls. @param {Explorer} explorer */
export function showContents({ drawing, drawnRoot, forest, network, replay, selectedLink, state, visibleTrees }) {
  const { faults, node, step, unit } = state;
  const parts = [`layout ${drawing?.layout}${drawnRoot ? ` from ${network.labels[drawnRoot]}` : ""}`];
  if (forest) {
    const isPart = visibleTrees.length < forest.treeCount;
    parts.push(`forest ${state.forest}, ${isPart ? `trees ${visibleTrees.join(", ") || "none"} of ${forest.treeCount}` : countOf(forest.treeCount, "tree")}`);
  }
  if (replay) parts.push(`schedule ${state.schedule}${state.source === "all" ? " of all sources" : ""}, ${step ? "" : "before "}step ${step || 1} of ${replay.steps}`);
  if (replay && unit >= 0) parts.push(`unit ${unit}`);
  if (node >= 0) parts.push(`selected: node ${network.labels[node]}`);
  else if (selectedLink >= 0) parts.push(`selected: link ${network.linkText(selectedLink)}`);
  if (faults.length) parts.push(`failed: ${faults.map((fault) => faultText(network, fault)).join(", ")}`);
  if (replay?.result) parts.push(missingText(replay.result.missing));
  byId("shown").textContent = `Shown: ${parts.join("; ")}.`;
}

/** @param {Explorer} explorer */
export function showSelection(explorer) {
  const host = byId("selection");
  const active = /** @type {HTMLElement | null} */ (document.activeElement);
  const focused = host.contains(active) ? active?.textContent : null;
  host.replaceChildren(...describeSelection(explorer));
  if (focused) [...host.querySelectorAll("button")].find((each) => each.textContent === focused)?.focus();
}

/** @param {Explorer} explorer @returns {HTMLElement[]} */
function describeSelection(explorer) {
  const { forest, network, replay, selectedLink } = explorer;
  const { node, faults, step } = explorer.state;
  if (node < 0 && selectedLink < 0) {
    return [note("Click a node or a link, or move with the arrow keys. A digit crosses the port with that number.")];
  }
  const isDown = faults.some((fault) => (node >= 0 ? fault.node === node : fault.link === selectedLink));
  const when = step > 1 ? `from step ${step} on` : "from the start";
  const fail = button(isDown ? "Repair" : `Fail ${when}`, () => explorer.toggleFault());
  if (node < 0) return [element("p", {}, "Link ", element("code", {}, network.linkText(selectedLink)), network.linkValues(selectedLink), " ", fail)];
  const ports = network.arcsFrom(node).flatMap((arc) => [`${network.portOf(arc)} `, crossButton(explorer, arc), " "]);
  const parts = [
    element("p", {}, "Node ", element("code", {}, network.labels[node]), ` (rank ${node}) `, fail),
    element("p", { class: "note" }, "Ports: ", ...ports),
  ];
  if (replay) parts.push(describeUnits(node, replay, explorer.state));
  parts.push(...describeDisjointPaths(explorer));
  // A self-contained page contains the layout `levels` only for a few roots.
  if (!explorer.source.isComplete) {
    const levels = button("Levels from here", () => explorer.inOrder(() => explorer.showLevels(node)));
    parts.push(element("p", {}, levels));
  }
  if (forest) {
    const hops = explorer.visibleTrees.map((tree) => {
      return hopLine(explorer, tree, `tree ${tree}: `, forest.data.root, forest.path(tree, node));
    });
    parts.push(element("p", {}, "Paths from the root, hop by hop:"), element("ul", { class: "hops" }, ...hops));
  }
  return parts;
}

/** @param {Explorer} explorer @param {number} arc @returns {HTMLElement} a button that selects the node at the end of an arc */
function crossButton(explorer, arc) {
  const { network } = explorer;
  const other = network.neighbours[arc];
  return linkButton(network.labels[other], () => explorer.select(other, network.portOf(arc)));
}

/** @param {number} node @param {Replay} replay @param {State} state @returns {HTMLElement} */
function describeUnits(node, replay, { step, unit }) {
  const units = replay.unitsAt(node, step);
  const few = units.slice(0, MOST_UNITS).join(", ") + (units.length > MOST_UNITS ? " and more" : "");
  let text = units.length ? `Holds ${countOf(units.length, "unit")}: ${few}` : "Holds no units";
  if (replay.reduces) {
    const { held, full } = replay.progress(step, unit);
    const state = held[node] === full ? "Complete" : "Incomplete";
    text = `${state}: ${held[node]} of ${countOf(full, "contribution")}; complete units: ${few || "none"}`;
  }
  return element("p", { class: "note units" }, `${text}.`);
}

/** @param {Explorer} explorer @returns {HTMLElement[]} */
function describeDisjointPaths(explorer) {
  const { network, paths, state } = explorer;
  const first = network.labels[state.from];
  const toggle = button(first ? "Hide paths" : "Disjoint paths from here", () => explorer.togglePaths());
  if (!first) return [element("p", {}, toggle)];
  if (!paths) return [element("p", {}, `Disjoint paths from ${first}: select another node. `, toggle)];
  const lines = paths.map((path, at) => hopLine(explorer, at, "", state.from, path));
  return [element("p", {}, `${pathsText(paths)} from ${first}: `, toggle), element("ul", { class: "hops disjoint" }, ...lines)];
}

/**
 * @param {Explorer} explorer @param {number} colour @param {string} name
 * @param {number} start @param {number[] | null} path the arcs from start, or null for none
 * @returns {HTMLElement} a path hop by hop
 */
function hopLine(explorer, colour, name, start, path) {
  const { network } = explorer;
  const line = element("li", {}, swatch({ background: treeColour(colour) }), name);
  if (!path) line.append("not in this tree");
  else {
    const hops = path.flatMap((arc) => [` –${network.portOf(arc)}→ `, crossButton(explorer, arc)]);
    line.append(linkButton(network.labels[start], () => explorer.select(start)), ...hops, ` (${countOf(path.length, "hop")})`);
  }
  return line;
}

/** @param {Explorer} explorer */
export function showFaults(explorer) {
  const { network, schedule, state } = explorer;
  const result = explorer.replay?.result;
  if (!state.faults.length) {
    byId("faults").replaceChildren(note("None. Select a node or a link and let it fail."));
    return;
  }
  const lines = state.faults.map((fault) => {
    const text = faultText(network, fault);
    const remove = linkButton("repair", () => explorer.setFaults(state.faults.filter((each) => each !== fault)), { "aria-label": `repair ${text}` });
    return element("li", {}, element("code", {}, text), " ", remove);
  });
  const parts = [element("ul", { class: "hops" }, ...lines)];
  if (result) {
    const nodes = result.perNode.reduce((count, missing) => count + Number(missing > 0), 0);
    const text = result.missing
      ? `${missingText(result.missing)} at ${countOf(nodes, "node")}.`
      : "Every live node still receives all of its units.";
    parts.push(element("p", { class: "result", "data-missing": result.missing }, text));
    if (result.missing) parts.push(listMissing(explorer, result));
    if (schedule?.data.symmetric && state.source === "one") parts.push(note("Only the units of one source are counted."));
  }
  byId("faults").replaceChildren(...parts);
}

/** @param {Explorer} explorer @param {NonNullable<Replay["result"]>} result @returns {HTMLElement} */
function listMissing(explorer, { undelivered, missing }) {
  const { labels } = explorer.network;
  const pairs = undelivered.flatMap(([node, unit], at) => {
    return [at ? ", " : "", `unit ${unit} at `, linkButton(labels[node], () => explorer.select(node))];
  });
  return element("p", { class: "note undelivered" }, ...pairs, missing > undelivered.length ? ", …" : "");
}
