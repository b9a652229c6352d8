/** The drawing of a topology: positions of nodes, or of groups of nodes, and of links, in its own units and in pixels. */

/** @import { Network } from "./network.js" */
/** @typedef {{scale: number, x: number, y: number}} View the position of the drawing's origin, in pixels, and the scale */

/** Up to this number of nodes, links are bent around nodes that they would cross. */
const MOST_BENT = 200;
const CURVE_PIECES = 8;
/** A link that leaves the picture is drawn as a stub at each end; this is a stub's share of the length. */
const STUB = 0.6;

/**
 * The items that are drawn: one for each node or, in a quotient, for all nodes at the same place. On a
 * torus, whose picture repeats in two directions, a link may leave the picture at one side and enter it at the opposite side; then `shiftX` and
 * `shiftY` are added to the position of its end `b` (for all other links, they are 0).
 */
export class Drawing {
  /** @param {Network} network @param {Float32Array} positions @param {string} layout */
  constructor(network, positions, layout) {
    this.network = network;
    this.layout = layout;
    this.isQuotient = layout === "quotient";
    /** the item of each node */
    this.itemOf = new Int32Array(network.nodeCount);
    /** the first node of each item @type {number[]} */
    this.first = [];
    /** @type {number[]} */
    this.size = [];
    /** @type {Map<string | number, number>} */
    const items = new Map();
    for (let node = 0; node < network.nodeCount; node++) {
      /** @type {string | number} */
      const key = this.isQuotient ? `${positions[2 * node]} ${positions[2 * node + 1]}` : node;
      const item = items.get(key) ?? this.first.push(node) - 1;
      if (this.isQuotient) items.set(key, item);
      this.itemOf[node] = item;
      this.size[item] = (this.size[item] ?? 0) + 1;
    }
    this.count = this.first.length;
    this.x = Float32Array.from(this.first, (node) => positions[2 * node]);
    this.y = Float32Array.from(this.first, (node) => positions[2 * node + 1]);
    /** the drawn link of each link, or -1 inside an item */
    this.drawnLink = new Int32Array(network.linkCount).fill(-1);
    /** the ends of each drawn link @type {number[]} */
    this.a = [];
    /** @type {number[]} */
    this.b = [];
    /** the number of links that a drawn link stands for @type {number[]} */
    this.weight = [];
    /** the index of the port of each drawn link @type {number[]} */
    this.port = [];
    this.joinLinks();
    this.linkCount = this.a.length;
    this.shiftX = new Float32Array(this.linkCount);
    this.shiftY = new Float32Array(this.linkCount);
    const periods = network.data.layouts.find(({ name }) => name === layout)?.periods ?? [];
    if (periods.length) this.wrap(periods);
    this.bounds = this.findBounds();
    /** the smallest distance between two items, estimated from a sample, which determines their radius */
    this.spacing = this.findSpacing();
    /** the result of `boxScale` @type {number | null} */
    this.fittingScale = null;
    /** how far the middle of a link is moved to its left, so that it passes no other node */
    this.bend = new Float32Array(this.linkCount);
    if (!periods.length && !this.isQuotient && network.nodeCount <= MOST_BENT) this.bendLinks();
  }

  /** Create the drawn links; in a quotient, all links between the same two items become one. */
  joinLinks() {
    const { network } = this;
    /** @type {Map<number, number>} */
    const known = new Map();
    network.linkArc.forEach((arc, link) => {
      const from = this.itemOf[network.sender(arc)];
      const to = this.itemOf[network.neighbours[arc]];
      if (from === to) return;
      const key = Math.min(from, to) * this.count + Math.max(from, to);
      const drawn = known.get(key) ?? this.a.push(from) - 1;
      if (this.isQuotient) known.set(key, drawn);
      this.b[drawn] ??= to;
      this.weight[drawn] = (this.weight[drawn] ?? 0) + 1;
      this.drawnLink[link] = drawn;
      this.port[drawn] = arc % network.portCount;
    });
  }

  /** Let each link take the shortest way around the torus. @param {number[][]} periods */
  wrap([[x1, y1], [x2, y2]]) {
    const steps = [-1, 0, 1];
    const shifts = steps.flatMap((i) => steps.map((j) => [i * x1 + j * x2, i * y1 + j * y2]));
    for (let link = 0; link < this.linkCount; link++) {
      const dx = this.x[this.b[link]] - this.x[this.a[link]];
      const dy = this.y[this.b[link]] - this.y[this.a[link]];
      const length = (/** @type {number[]} */ [sx, sy]) => Math.hypot(dx + sx, dy + sy);
      const nearest = shifts.reduce((best, shift) => (length(shift) < length(best) - 1e-3 ? shift : best), [0, 0]);
      [this.shiftX[link], this.shiftY[link]] = nearest;
    }
  }

  bendLinks() {
    const { x, y, bounds } = this;
    const near = 0.25 * this.spacing;
    const cx = (bounds.left + bounds.right) / 2;
    const cy = (bounds.top + bounds.bottom) / 2;
    for (let link = 0; link < this.linkCount; link++) {
      const [a, b] = [this.a[link], this.b[link]];
      const dx = x[b] - x[a];
      const dy = y[b] - y[a];
      const length = Math.hypot(dx, dy);
      for (let item = 0; item < this.count; item++) {
        if (item === a || item === b) continue;
        const along = ((x[item] - x[a]) * dx + (y[item] - y[a]) * dy) / length;
        const away = ((x[item] - x[a]) * dy - (y[item] - y[a]) * dx) / length;
        if (along <= 0 || along >= length || Math.abs(away) >= near) continue;
        // Seen from their outer ends, all links bend to the same side, which keeps the rotational symmetry.
        const isInward = Math.hypot(x[a] - cx, y[a] - cy) > Math.hypot(x[b] - cx, y[b] - cy);
        this.bend[link] = (isInward ? 1 : -1) * (0.5 * this.spacing + 0.12 * length);
        break;
      }
    }
  }

  findBounds() {
    const stubs = this.a.flatMap((_, link) => (this.isWrapped(link) ? this.pieces({ scale: 1, x: 0, y: 0 }, link) : []));
    const xs = [...this.x, ...stubs.flatMap(([x1, , x2]) => [x1, x2])];
    const ys = [...this.y, ...stubs.flatMap(([, y1, , y2]) => [y1, y2])];
    return { left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys) };
  }

  /** @returns {number} the smallest distance from an item of a sample (at least 64 items, if there are so many) to any other item; 1 for a single item */
  findSpacing() {
    const { x, y } = this;
    let nearest = Infinity;
    for (let item = 0; item < this.count; item += Math.max(1, Math.floor(this.count / 64))) {
      for (let other = 0; other < this.count; other++) {
        if (other !== item) nearest = Math.min(nearest, (x[other] - x[item]) ** 2 + (y[other] - y[item]) ** 2);
      }
    }
    return nearest < Infinity ? Math.sqrt(nearest) : 1;
  }

  /** @param {number} width @param {number} height in pixels @returns {number} the smallest scale at which boxes of this size around all items do not overlap */
  boxScale(width, height) {
    if (this.fittingScale !== null) return this.fittingScale;
    let fraction = Infinity;
    for (let item = 0; item < this.count; item++) {
      for (let other = 0; other < item; other++) {
        const across = Math.abs(this.x[other] - this.x[item]) / width;
        const down = Math.abs(this.y[other] - this.y[item]) / height;
        fraction = Math.min(fraction, Math.max(across, down));
      }
    }
    this.fittingScale = 1 / fraction;
    return this.fittingScale;
  }

  /** @param {number} link @returns {boolean} whether the link leaves the picture and comes back */
  isWrapped(link) {
    return this.shiftX[link] !== 0 || this.shiftY[link] !== 0;
  }

  /** @param {number} arc @returns {number} twice the arc's drawn link, plus 1 if the arc leads from the end `b` to `a`; -1 inside an item */
  way(arc) {
    const drawn = this.drawnLink[this.network.linkOf[arc]];
    return drawn < 0 ? -1 : 2 * drawn + Number(this.a[drawn] !== this.itemOf[this.network.sender(arc)]);
  }

  /** @param {number} item @returns {string} the label of a node, or `*45` for a substar */
  itemText(item) {
    const { labels } = this.network;
    if (!this.isQuotient) return labels[item];
    const symbols = this.network.nodeCount >= 720 ? 2 : 1;
    return `*${labels[this.first[item]].slice(-symbols)}`;
  }

  /** @param {number} item @returns {boolean} whether the item is a switch, which is drawn as a square */
  isSwitch(item) {
    return this.first[item] >= this.network.endpointCount;
  }

  /** @param {number} item @param {View} camera @returns {[number, number]} the item's position in pixels */
  place(item, camera) {
    return [this.x[item] * camera.scale + camera.x, this.y[item] * camera.scale + camera.y];
  }

  /** @param {View} camera @returns {number} the radius of items in pixels */
  radius(camera) {
    return Math.min(Math.max(this.spacing * camera.scale * 0.26, 0.8), this.isQuotient ? 22 : 11);
  }

  /** @param {View} camera @returns {number} the factor of stroke widths: small nodes have thin strokes, because wide strokes would cover the picture */
  strokeScale(camera) {
    return Math.min(Math.max(this.radius(camera) / 8, 0.3), 1);
  }

  /**
   * The pieces of a link in pixels: one piece, several if it is bent, or two stubs if it crosses the border of the torus.
   *
   * @param {View} camera @param {number} link @param {boolean} [back] @param {number} [shift] to the left, in pixels
   * @returns {number[][]} per piece x1, y1, x2, y2, and the fractions of the link at which it begins and ends
   */
  pieces(camera, link, back = false, shift = 0) {
    const sign = back ? -1 : 1;
    const sx = sign * this.shiftX[link] * camera.scale;
    const sy = sign * this.shiftY[link] * camera.scale;
    let [x1, y1] = this.place(back ? this.b[link] : this.a[link], camera);
    let [x2, y2] = this.place(back ? this.a[link] : this.b[link], camera);
    const [dx, dy] = [x2 + sx - x1, y2 + sy - y1];
    const length = Math.hypot(dx, dy) || 1;
    x1 += (dy / length) * shift;
    x2 += (dy / length) * shift;
    y1 -= (dx / length) * shift;
    y2 -= (dx / length) * shift;
    if (sx || sy) {
      return [[x1, y1, x1 + STUB * dx, y1 + STUB * dy, 0, STUB], [x2 - STUB * dx, y2 - STUB * dy, x2, y2, 1 - STUB, 1]];
    }
    const bend = sign * this.bend[link] * camera.scale;
    if (!bend) return [[x1, y1, x2, y2, 0, 1]];
    const mx = (x1 + x2) / 2 + (dy / length) * bend;
    const my = (y1 + y2) / 2 - (dx / length) * bend;
    const at = (/** @type {number} */ t) => [
      (1 - t) ** 2 * x1 + 2 * t * (1 - t) * mx + t * t * x2,
      (1 - t) ** 2 * y1 + 2 * t * (1 - t) * my + t * t * y2,
    ];
    return Array.from({ length: CURVE_PIECES }, (_, index) => {
      const [first, last] = [index / CURVE_PIECES, (index + 1) / CURVE_PIECES];
      return [...at(first), ...at(last), first, last];
    });
  }

  /**
   * @param {View} camera @param {number} x @param {number} y
   * @param {{half: number, high: number}} [box] half the width and height of the boxes around items
   * @returns {{node: number, link: number}} the item or drawn link at a position in pixels, or -1
   */
  pick(camera, x, y, box = { half: 0, high: 0 }) {
    const picked = { node: -1, link: -1 };
    let nearest = Math.max(this.radius(camera) * 1.3, 9);
    for (let item = 0; item < this.count; item++) {
      const [px, py] = this.place(item, camera);
      const isInside = Math.abs(px - x) < box.half && Math.abs(py - y) < box.high;
      const distance = isInside ? 0 : Math.hypot(px - x, py - y);
      if (distance >= nearest) continue;
      nearest = distance;
      picked.node = item;
    }
    if (picked.node >= 0) return picked;
    nearest = 7;
    for (let link = 0; link < this.linkCount; link++) {
      for (const [x1, y1, x2, y2] of this.pieces(camera, link)) {
        const squared = (x2 - x1) ** 2 + (y2 - y1) ** 2 || 1;
        const along = Math.min(Math.max(((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / squared, 0), 1);
        const distance = Math.hypot(x1 + along * (x2 - x1) - x, y1 + along * (y2 - y1) - y);
        if (distance >= nearest) continue;
        nearest = distance;
        picked.link = link;
      }
    }
    return picked;
  }
}

/**
 * @param {number[][]} parts the pieces of a link @param {number} progress of the packet, 0 to 1
 * @returns {[number, number] | null} the packet's position in pixels, or null between two stubs
 */
export function placePacket(parts, progress) {
  const part = parts.find(([, , , , first, last]) => progress >= first && progress <= last);
  if (!part) return null;
  const [x1, y1, x2, y2, first, last] = part;
  const along = (progress - first) / (last - first);
  return [x1 + along * (x2 - x1), y1 + along * (y2 - y1)];
}
