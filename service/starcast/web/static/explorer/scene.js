/**
 * The appearance of a drawing at one moment: the colour of every item, and strokes along links. All
 * renderers draw a scene in the same way.
 */

import { mix } from "./theme.js";

/** @typedef {import("./network.js").Drawing} Drawing */
/** @typedef {import("./theme.js").Theme} Theme */
/** @typedef {import("./theme.js").Colour} Colour */
/** @typedef {import("./forest.js").ForestModel} ForestModel */
/** @typedef {import("./replay.js").Replay} Replay */

/**
 * @typedef {object} Marks
 * @property {number} selected the selected node, or -1
 * @property {number} root the root or source, or -1
 * @property {Set<number>} deadNodes
 * @property {Set<number>} deadLinks
 * @property {number} selectedLink or -1
 * @property {Int32Array | null} lacking the units that each node misses in the end, under faults
 */

/** The number of the outline, in the warning colour, of nodes that lack a unit after the last step. */
export const LACKING = 3;

/**
 * @typedef {object} Stroke a stroke along a drawn link
 * @property {number} link
 * @property {boolean} back whether it leads from the end `b` of the link to the end `a`
 * @property {Colour} colour
 * @property {number} width in pixels
 * @property {number} shift to the left, in pixels
 * @property {boolean} packet whether a packet moves along it
 * @property {number} alpha from 0 to 255
 */

export class Scene {
  /** @param {Drawing} drawing @param {Theme} theme @param {Marks} marks */
  constructor(drawing, theme, marks) {
    this.drawing = drawing;
    this.theme = theme;
    this.marks = marks;
    /** the fill colour of each item: red, green, blue, and 255 (opaque) */
    this.fill = new Uint8Array(4 * drawing.count);
    /** the outline of each item: 0 for none, 1 in the ink colour, 2 for a selected item, or LACKING */
    this.ring = new Uint8Array(drawing.count);
    /** the text that a screen reader adds after the name of an item @type {(item: number) => string} */
    this.note = () => "";
    /** the colour of links without strokes: that of their port, or faint */
    this.base = /** @type {"ports" | "faint"} */ ("ports");
    /** @type {Stroke[]} */
    this.strokes = [];
    /** the largest load if the width of strokes shows loads, else 0 */
    this.mostLoad = 0;
    this.paint(() => theme.paper);
  }

  /** @param {(item: number) => Colour} colour */
  paint(colour) {
    for (let item = 0; item < this.drawing.count; item++) {
      this.fill.set(colour(item), 4 * item);
      this.fill[4 * item + 3] = 255;
    }
  }

  /**
   * @param {number} link @param {boolean} back @param {Colour} colour @param {number} width
   * @param {Partial<Stroke>} [others]
   */
  addStroke(link, back, colour, width, others = {}) {
    this.strokes.push({ link, back, colour, width, shift: 0, packet: false, alpha: 255, ...others });
  }

  /** @param {number} arc @returns {{link: number, back: boolean}} the drawn link and direction of the stroke; link -1 inside an item */
  place(arc) {
    const { drawing } = this;
    const link = drawing.drawnLink[drawing.network.linkOf[arc]];
    if (link < 0) return { link, back: false };
    const from = drawing.itemOf[drawing.network.sender(arc)];
    return { link, back: drawing.a[link] !== from };
  }

  /** Outline the root and the selection, and cross out dead nodes and links. */
  finish() {
    const { drawing, marks, theme } = this;
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
      if (drawn >= 0) this.addStroke(drawn, false, isDead ? theme.muted : theme.ink, isDead ? 6 : 4, { alpha: 190 });
    }
    if (marks.selected >= 0) this.ring[drawing.itemOf[marks.selected]] = 2;
    return this;
  }
}

/**
 * Draw the strokes of trees: side by side on a link that several trees use, or one stroke as wide as the load.
 *
 * @param {Scene} scene @param {ForestModel} forest @param {number[]} trees the visible trees
 * @param {"trees" | "load"} mode
 */
export function paintForest(scene, forest, trees, mode) {
  const { theme, drawing } = scene;
  const { network } = drawing;
  const { selected } = scene.marks;
  const onPath = new Set();
  const paths = selected >= 0 && !drawing.isQuotient && selected !== forest.data.root;
  if (paths) {
    for (const tree of trees) {
      for (const arc of forest.path(tree, selected) ?? []) onPath.add(tree * network.neighbors.length + arc);
    }
  }
  scene.base = "faint";
  if (mode === "load" || drawing.isQuotient) {
    const load = new Int32Array(2 * drawing.linkCount);
    forest.load(trees).forEach((count, arc) => {
      if (!count) return;
      const { link, back } = scene.place(arc);
      if (link >= 0) load[2 * link + Number(back)] += count;
    });
    const greatest = load.reduce((most, count) => Math.max(most, count), 1);
    scene.mostLoad = greatest;
    load.forEach((count, at) => {
      if (!count) return;
      const share = count / greatest;
      scene.addStroke(at >> 1, at % 2 === 1, mix(theme.faint, theme.accent, share), 0.8 + 4 * share, { shift: 2.5 });
    });
  } else {
    const lanes = new Uint8Array(drawing.linkCount);
    trees.forEach((tree) => {
      for (let node = 0; node < network.nodeCount; node++) {
        const up = forest.arcToParent(tree, node);
        if (up < 0) continue;
        const arc = network.opposite(up);
        const { link, back } = scene.place(arc);
        const lane = lanes[link]++;
        const side = (lane % 2 ? 1 : -1) * Math.ceil(lane / 2) * 3 * (back ? -1 : 1);
        const isOnPath = onPath.has(tree * network.neighbors.length + arc);
        const alpha = paths && !isOnPath ? 60 : 255;
        scene.addStroke(link, back, theme.trees[tree % 8], isOnPath ? 6 : 2, { shift: side, alpha });
      }
    });
  }
  scene.paint((item) => (item === drawing.itemOf[forest.data.root] ? theme.accent : theme.paper));
}

/**
 * Draw the strokes of paths from one node, each path in its own colour.
 *
 * @param {Scene} scene @param {number[][]} paths the arcs of each path
 */
export function paintPaths(scene, paths) {
  const { theme, drawing, marks } = scene;
  scene.base = "faint";
  paths.forEach((path, at) => {
    for (const arc of path) {
      const { link, back } = scene.place(arc);
      if (link >= 0) scene.addStroke(link, back, theme.trees[at % 8], 5);
    }
  });
  scene.paint((item) => (item === drawing.itemOf[marks.root] ? theme.accent : theme.paper));
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
  const { network } = drawing;
  const sums = replay.reduces ? replay.contributionsAfter(unit, heldStep) : null;
  const held = sums?.held ?? replay.heldAfter(heldStep, unit);
  const share = new Float64Array(drawing.count);
  const greatest = sums?.complete ?? (unit < 0 ? mostHeld(replay) : 1);
  for (let node = 0; node < network.nodeCount; node++) {
    share[drawing.itemOf[node]] += Math.min(held[node] / greatest, 1) / drawing.size[drawing.itemOf[node]];
  }
  scene.base = "faint";
  scene.paint((item) => mix(theme.paper, theme.accent, share[item] && 0.2 + 0.8 * share[item]));
  if (sums && !drawing.isQuotient) {
    scene.note = (node) =>
      held[node] === greatest ? "complete" : `incomplete: ${held[node]} of ${greatest} contributions`;
  } else if (!drawing.isQuotient) {
    scene.note = (node) => (unit < 0 ? `holds ${held[node]}` : held[node] ? "holds it" : "lacks it");
  }
  const units = new Int32Array(2 * drawing.linkCount);
  const colour = new Int16Array(2 * drawing.linkCount);
  const [begin, end] = replay.span(step);
  for (let row = begin; row < end; row++) {
    if (!replay.executed[row] || (unit >= 0 && replay.rows.unit[row] !== unit)) continue;
    const arc = replay.arcOf(row);
    const { link, back } = scene.place(arc);
    if (link < 0) continue;
    units[2 * link + Number(back)]++;
    colour[2 * link + Number(back)] = replay.rows.tree[row] % 8;
  }
  for (let at = 0; at < units.length; at++) {
    if (!units[at]) continue;
    const width = 2 + Math.min(Math.log2(units[at]), 3);
    scene.addStroke(at >> 1, at % 2 === 1, theme.trees[colour[at]], width, { shift: units[at ^ 1] ? 2.5 : 0, packet: true });
  }
}

/** @param {Replay} replay @returns {number} the most units that a node holds in the end */
export function mostHeld(replay) {
  if (replay.mostHeld === undefined) {
    // The source of a scatter holds all units from the start, so it would make other nodes pale.
    let most = 1;
    replay.heldAfter(replay.steps).forEach((count, node) => {
      if (!replay.initial[node] || replay.toAll) most = Math.max(most, count);
    });
    replay.mostHeld = most;
  }
  return replay.mostHeld;
}
