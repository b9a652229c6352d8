/** The appearance of a drawing at one moment, for all renderers: the colour of every item, and strokes along links. */

import { countOf } from "../elements.js";

/** @import { Camera } from "./camera.js" */
/** @import { Drawing } from "./drawing.js" */
/** @import { Forest } from "./network.js" */
/** @import { Replay } from "./replay.js" */
/** @typedef {[number, number, number]} Colour red, green, blue from 0 to 255 */
/** @typedef {ReturnType<typeof readTheme>} Theme */

/** Return the colours of the page's style sheet, for renderers that do not use CSS. */
function readTheme() {
  const style = getComputedStyle(document.body);
  /** @param {string} name @returns {Colour} */
  const colour = (name) => {
    const value = Number.parseInt(style.getPropertyValue(`--${name}`).trim().slice(1), 16); // as #0072b2
    return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
  };
  return {
    faint: mix(colour("line"), colour("muted"), 0.65), // contrast 3, the minimum of WCAG for graphics
    ink: colour("ink"),
    paper: colour("paper"),
    muted: colour("muted"),
    line: colour("line"),
    accent: colour("accent"),
    trees: Array.from({ length: 8 }, (_, index) => colour(`tree-${index + 1}`)),
  };
}

/** @param {Colour} from @param {Colour} to @param {number} share @returns {Colour} */
export function mix(from, to, share) {
  const blend = (/** @type {number} */ index) => Math.round(from[index] + (to[index] - from[index]) * share);
  return [blend(0), blend(1), blend(2)];
}

/** @param {Colour} colour @returns {string} */
export function css(colour) {
  return `#${colour.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** @param {Colour} ground @returns {string} white or black, whichever has the higher contrast, which is at least 4.5 */
export function readableOn(ground) {
  const [red, green, blue] = ground.map((part) => ((part / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.179 ? "#ffffff" : "#000000";
}

/**
 * @typedef {object} Marks
 * @property {number} selected the selected node, or -1
 * @property {number} root the root or source, or -1
 * @property {Set<number>} deadNodes
 * @property {Set<number>} deadLinks
 * @property {number} selectedLink or -1
 * @property {Int32Array | null} lacking the number of units that each node lacks after the last step, or null without faults
 */

/** The value of `Scene.ring` for nodes that lack a unit after the last step; their outline has the warning colour. */
export const LACKING = 3;

/**
 * @typedef {object} Stroke a stroke along a drawn link
 * @property {number} link
 * @property {boolean} back whether it leads from the end `b` of the link to the end `a`
 * @property {Colour} colour
 * @property {number} width in pixels
 * @property {number} shift to the left, in pixels
 * @property {boolean} packet whether a packet moves along the link
 * @property {number} alpha from 0 to 255
 */

export class Scene {
  /** @param {Drawing} drawing @param {Marks} marks */
  constructor(drawing, marks) {
    this.drawing = drawing;
    this.theme = readTheme();
    this.marks = marks;
    /** the fill colour of each item: red, green, blue, and 255 (opaque) */
    this.fill = new Uint8Array(4 * drawing.count).fill(255);
    /** the outline of each item: 0 for none, 1 in the ink colour, 2 for a selected item, or LACKING */
    this.ring = new Uint8Array(drawing.count);
    /** the text that a screen reader adds after the name of an item @type {(item: number) => string} */
    this.note = () => "";
    /** whether links without strokes are faint; otherwise they have the colour of their port */
    this.isFaint = drawing.isQuotient;
    /** @type {Stroke[]} */
    this.strokes = [];
    /** the meanings of lines and nodes, with the style of a sample @type {[text: string, sample: Record<string, string>][]} */
    this.legend = [];
    this.paint(() => this.theme.paper);
  }

  /** Add lines to the legend. @param {string} text @param {Colour} colour @param {number} width */
  explainLine(text, colour, width) {
    this.legend.push([text, { background: css(colour), height: `${width}px` }]);
  }

  /** Add nodes to the legend. @param {string} text @param {string} background @param {Colour} outline */
  explainNode(text, background, outline) {
    this.legend.push([text, { background, outline: `2px solid ${css(outline)}`, height: "9px" }]);
  }

  /** @param {number[]} trees */
  explainTrees(trees) {
    for (const tree of trees) this.explainLine(`tree ${tree}`, this.theme.trees[tree % 8], 3);
  }

  /** @param {(item: number) => Colour} colour */
  paint(colour) {
    for (let item = 0; item < this.drawing.count; item++) this.fill.set(colour(item), 4 * item);
  }

  /** @param {number} item @returns {Colour} */
  fillOf(item) {
    return /** @type {Colour} */ ([...this.fill.subarray(4 * item, 4 * item + 3)]);
  }

  /** Fill the item of a node with the accent colour, and all other items with the paper's colour. @param {number} node */
  paintFirst(node) {
    const { theme, drawing } = this;
    this.paint((item) => (item === drawing.itemOf[node] ? theme.accent : theme.paper));
  }

  /** @param {number} link @param {Colour} faint @returns {Colour} of a drawn link without strokes */
  baseColour(link, faint) {
    return this.isFaint ? faint : this.theme.trees[this.drawing.port[link] % 8];
  }

  /** @param {number} way see `Drawing.way` @param {Colour} colour @param {number} width @param {Partial<Stroke>} [others] */
  addStroke(way, colour, width, others = {}) {
    this.strokes.push({ link: way >> 1, back: way % 2 === 1, colour, width, shift: 0, packet: false, alpha: 255, ...others });
  }

  /** Yield the strokes with their pieces and widths in pixels. @param {Camera} camera */
  *placeStrokes(camera) {
    const thin = this.drawing.strokeScale(camera);
    for (const stroke of this.strokes) {
      const parts = this.drawing.pieces(camera, stroke.link, stroke.back, stroke.shift * thin);
      yield { stroke, parts, width: stroke.width * thin, colour: css(stroke.colour) };
    }
  }

  /** Outline the root and the selection, and cross out dead nodes and links. @param {string} rootText */
  finish(rootText) {
    const { drawing, marks, theme } = this;
    if (drawing.network.endpointCount < drawing.network.nodeCount) {
      this.explainNode("square: a switch, which only forwards", css(theme.paper), theme.muted);
    }
    if (marks.root >= 0) this.explainNode(rootText, css(theme.accent), theme.ink);
    if (marks.lacking?.some(Boolean)) this.explainNode("lacks a unit after the last step", css(theme.paper), theme.trees[1]);
    if (marks.deadNodes.size) this.explainNode("crossed out: failed node", css(theme.line), theme.muted);
    if (marks.deadLinks.size) this.explainLine("failed link", mix(theme.paper, theme.muted, 0.75), 6);
    marks.lacking?.forEach((missing, node) => {
      if (missing) this.ring[drawing.itemOf[node]] = LACKING;
    });
    if (marks.root >= 0) this.ring[drawing.itemOf[marks.root]] = 1;
    for (const node of marks.deadNodes) {
      if (!drawing.isQuotient) this.fill.set(theme.muted, 4 * drawing.itemOf[node]);
    }
    for (const link of [...marks.deadLinks, marks.selectedLink]) {
      const drawn = link < 0 ? -1 : drawing.drawnLink[link];
      const isDead = marks.deadLinks.has(link);
      if (drawn >= 0) this.addStroke(2 * drawn, isDead ? theme.muted : theme.ink, isDead ? 6 : 4, { alpha: 190 });
    }
    if (marks.selected >= 0) this.ring[drawing.itemOf[marks.selected]] = 2;
    return this;
  }
}

/** Draw only the links, in the colours of their ports. @param {Scene} scene */
export function paintPorts(scene) {
  const { drawing, theme } = scene;
  const names = drawing.network.data.port_names;
  if (drawing.isQuotient) scene.explainLine("links between substars, wider: more", theme.faint, 3);
  else names.forEach((name, index) => scene.explainLine(name, theme.trees[index % 8], 3));
}

/**
 * Draw the strokes of trees: side by side on a link that several trees use, or one stroke as wide as the load.
 *
 * @param {Scene} scene @param {Forest} forest @param {number[]} trees the visible trees
 * @param {"trees" | "load"} mode
 */
export function paintForest(scene, forest, trees, mode) {
  const { theme, drawing, marks } = scene;
  const { network } = drawing;
  scene.isFaint = true;
  scene.paintFirst(forest.data.root);
  if (mode === "load" || drawing.isQuotient) {
    const load = new Int32Array(2 * drawing.linkCount);
    forest.load(trees).forEach((count, arc) => {
      if (count && drawing.way(arc) >= 0) load[drawing.way(arc)] += count;
    });
    const greatest = load.reduce((most, count) => Math.max(most, count), 1);
    const colour = (/** @type {number} */ count) => mix(theme.faint, theme.accent, count / greatest);
    const width = (/** @type {number} */ count) => 0.8 + (4 * count) / greatest;
    load.forEach((count, way) => {
      if (count) scene.addStroke(way, colour(count), width(count), { shift: 2.5 });
    });
    scene.explainLine("in 1 tree", colour(1), width(1));
    if (greatest > 1) scene.explainLine(`in ${greatest} trees`, theme.accent, width(greatest));
    return;
  }
  scene.explainTrees(trees);
  const hasPaths = marks.selected >= 0 && marks.selected !== forest.data.root;
  const lanes = new Uint8Array(drawing.linkCount);
  for (const tree of trees) {
    const path = hasPaths ? new Set(forest.path(tree, marks.selected)) : null;
    for (let node = 0; node < network.nodeCount; node++) {
      const up = forest.arcToParent(tree, node);
      if (up < 0) continue;
      const arc = network.opposite(up);
      const way = drawing.way(arc);
      const lane = lanes[way >> 1]++;
      const shift = (lane % 2 ? 1 : -1) * Math.ceil(lane / 2) * 3 * (way % 2 ? -1 : 1);
      const isOnPath = path?.has(arc);
      scene.addStroke(way, theme.trees[tree % 8], isOnPath ? 6 : 2, { shift, alpha: hasPaths && !isOnPath ? 60 : 255 });
    }
  }
}

/** Draw paths from one node, each in its own colour. @param {Scene} scene @param {number[][]} paths the arcs of each path */
export function paintPaths(scene, paths) {
  const { theme, drawing, marks } = scene;
  scene.isFaint = true;
  paths.forEach((path, at) => {
    scene.explainLine(`path of ${countOf(path.length, "hop")}`, theme.trees[at % 8], 5);
    for (const way of path.map((arc) => drawing.way(arc))) if (way >= 0) scene.addStroke(way, theme.trees[at % 8], 5);
  });
  scene.paintFirst(marks.root);
}

/**
 * Shade the nodes by the units that they hold after a step, and draw the arcs that are busy in the step.
 *
 * @param {Scene} scene @param {Replay} replay @param {number} step from 0, before the first step
 * @param {number} unit the unit whose holders are shown, or -1 for all
 * @param {number} heldStep the step after which holdings are shown
 */
export function paintStep(scene, replay, step, unit, heldStep) {
  const { theme, drawing } = scene;
  const { held, full } = replay.progress(heldStep, unit);
  const share = new Float64Array(drawing.count);
  drawing.itemOf.forEach((item, node) => (share[item] += Math.min(held[node] / full, 1) / drawing.size[item]));
  scene.isFaint = true;
  scene.paint((item) => mix(theme.paper, theme.accent, share[item] && 0.2 + 0.8 * share[item]));
  const shades = `linear-gradient(90deg, ${css(theme.paper)}, ${css(theme.accent)})`;
  const text = replay.reduces ? `has 0 to ${countOf(full, "contribution")}` : `holds 0 to ${countOf(full, "unit")}`;
  if (replay.reduces || unit < 0) scene.explainNode(text, shades, theme.muted);
  else scene.explainNode(`holds unit ${unit}`, css(theme.accent), theme.muted);
  scene.explainLine("busy link: 1 unit", theme.ink, 2);
  if (replay.data.units > 1) scene.explainLine("8 units or more", theme.ink, 5);
  if (replay.trees.length > 1) scene.explainTrees(replay.trees);
  if (!drawing.isQuotient) scene.note = (node) => replay.describe(held[node], full, unit);
  const units = new Int32Array(2 * drawing.linkCount);
  const tree = new Int16Array(2 * drawing.linkCount);
  const [begin, end] = replay.span(step);
  for (let row = begin; row < end; row++) {
    if (!replay.executed[row] || (unit >= 0 && replay.rows.unit[row] !== unit)) continue;
    const way = drawing.way(replay.arcOf(row));
    if (way < 0) continue;
    units[way]++;
    tree[way] = replay.rows.tree[row] % 8;
  }
  units.forEach((count, way) => {
    const shift = units[way ^ 1] ? 2.5 : 0;
    if (count) scene.addStroke(way, theme.trees[tree[way]], 2 + Math.min(Math.log2(count), 3), { shift, packet: true });
  });
}
