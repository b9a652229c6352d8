/** The state of the explorer, and its conversion to and from the text in the URL. */

/** @import { Network } from "./network.js" */
/** @import { Fault } from "./replay.js" */
/** @typedef {ReturnType<typeof emptyState>} State */

/** Return the state in which nothing is chosen: names are empty, and numbers of nodes and units are -1. */
export function emptyState() {
  return {
    layout: "",
    forest: "",
    trees: /** @type {number[] | null} */ (null), // the visible trees, or null for all
    links: /** @type {"trees" | "load"} */ ("trees"),
    schedule: "",
    source: /** @type {"one" | "all"} */ ("one"),
    step: 0,
    unit: -1, // the unit whose holders are shown, or -1 for all
    root: -1, // the node from which the layout `levels` measures distances, or -1 for the root of the forest or schedule
    node: -1,
    from: -1, // the first node of the disjoint paths to the selected node
    faults: /** @type {Fault[]} */ ([]),
    view: "",
  };
}

/** @param {Network} network @param {Fault} fault @returns {string} such as `21345@3` */
export function faultText(network, fault) {
  const what = fault.node >= 0 ? network.labels[fault.node] : network.linkText(fault.link);
  return fault.step > 1 ? `${what}@${fault.step}` : what;
}

/** A fault as text, as in `starcast/support/vocabulary.py`. */
const FAULT = /^([^@\s-]+)(?:-([^@\s-]+))?(?:@([0-9]{1,18}))?$/;

/** @param {Network} network @param {string} text @returns {Fault | string} the fault, or a sentence that describes the error */
function parseFault(network, text) {
  const [, first, second, at] = FAULT.exec(text.trim()) ?? [];
  const step = Number(at ?? 1);
  if (first === undefined || step < 1) return `'${text}' is not a fault`;
  const what = second === undefined ? first : `${first}-${second}`;
  const nodes = what.split("-").map((label) => network.find(label));
  if (nodes.includes(-1)) return `${network.data.spec} has no node or link '${what}'`;
  if (nodes.length === 1) return { node: nodes[0], link: -1, step };
  const arc = network.arcBetween(nodes[0], nodes[1]);
  if (arc < 0) return `${what.replace("-", " and ")} are not linked in ${network.data.spec}`;
  return { node: -1, link: network.linkOf[arc], step };
}

/** @param {State} state @param {Network} network @returns {string} without the question mark */
export function formatState(state, network) {
  const label = (/** @type {number} */ node) => network.labels[node] ?? "";
  const texts = {
    ...state,
    trees: state.trees && (state.trees.join(",") || "none"),
    links: state.links === "load" && "load",
    source: state.source === "all" && "all",
    step: state.step && String(state.step),
    unit: state.unit >= 0 && String(state.unit),
    root: label(state.root),
    node: label(state.node),
    from: label(state.from),
    faults: state.faults.map((fault) => faultText(network, fault)).join(","),
  };
  // Colons, commas, at signs, slashes and equals signs need no escapes in a query, and are easier to read without.
  const readable = (/** @type {string} */ text) =>
    encodeURIComponent(text).replace(/%(3A|2C|40|2F|3D)/gi, (escaped) => decodeURIComponent(escaped));
  return Object.entries(texts).flatMap(([key, text]) => (text ? [`${key}=${readable(text)}`] : [])).join("&");
}

/**
 * @param {string} text @param {Network} network
 * @returns {{state: State, problems: string[]}} the valid part of the state, and sentences that describe the invalid parts
 */
export function parseState(text, network) {
  const state = emptyState();
  /** @type {string[]} */
  const problems = [];
  const { spec } = network.data;
  /** @param {string} name @param {string} value @returns {number} or -1 */
  const integer = (name, value) => {
    if (/^\d{1,9}$/.test(value)) return Number(value);
    problems.push(`${name} is '${value}', which is not a number`);
    return -1;
  };
  for (const [key, value] of new URLSearchParams(text)) {
    if (key === "layout") {
      if (network.data.layouts.some(({ name }) => name === value)) state.layout = value;
      else problems.push(`${spec} has no layout '${value}'`);
    } else if (key === "forest" || key === "schedule" || key === "view") state[key] = value;
    else if (key === "trees" || key === "tree") {
      const numbers = value === "none" ? [] : value.split(",").map((part) => integer("trees", part));
      if (!numbers.includes(-1)) state.trees = numbers;
    } else if (key === "links" && (value === "load" || value === "trees")) state.links = value;
    else if (key === "source" && (value === "one" || value === "all")) state.source = value;
    else if (key === "step") state.step = Math.max(integer(key, value), 0);
    else if (key === "unit") state.unit = integer(key, value);
    else if (key === "root" || key === "node" || key === "from") {
      state[key] = network.find(value);
      if (state[key] < 0) problems.push(`${spec} has no node '${value}'`);
    } else if (key === "faults") {
      for (const part of value.split(",").filter(Boolean)) {
        const fault = parseFault(network, part);
        if (typeof fault === "string") problems.push(fault);
        else state.faults.push(fault);
      }
    } else problems.push(`the address has an unknown part '${key}=${value}'`);
  }
  return { state, problems };
}
