/** A topology with numbered links, and its drawing: positions of nodes, or of groups of nodes. */

/** @typedef {import("./source.js").TopologyData} TopologyData */

/**
 * An arc is a directed link; its number is `node * portCount + port index`. `linkOf` has the number of
 * the undirected link for each arc, and `linkArc` has one of the two arcs for each link.
 */
export class Network {
  /** @param {TopologyData} data @param {Int32Array} neighbors `[nodes, ports]` */
  constructor(data, neighbors) {
    this.data = data;
    this.nodeCount = data.node_count;
    this.portCount = data.port_count;
    this.neighbors = neighbors;
    this.labels = data.labels ?? computeLabels(data);
    /** @type {Map<string, number>} */
    this.ranks = new Map(this.labels.map((label, rank) => [label, rank]));
    /** the index of each port number, -1 for none */
    this.portIndex = new Int16Array(256).fill(-1);
    data.ports.forEach((port, index) => (this.portIndex[port] = index));
    this.reverse = data.reverse_ports.map((port) => data.ports.indexOf(port));
    const arcs = this.nodeCount * this.portCount;
    this.linkOf = new Int32Array(arcs);
    this.linkArc = new Int32Array(arcs / 2);
    let count = 0;
    for (let arc = 0; arc < arcs; arc++) {
      const node = Math.floor(arc / this.portCount);
      if (node > neighbors[arc]) continue;
      this.linkOf[arc] = count;
      this.linkOf[this.opposite(arc)] = count;
      this.linkArc[count++] = arc;
    }
    this.linkCount = count;
  }

  /** @param {number} arc @returns {number} the arc in the other direction */
  opposite(arc) {
    return this.neighbors[arc] * this.portCount + this.reverse[arc % this.portCount];
  }

  /** @param {number} arc @returns {number} */
  sender(arc) {
    return Math.floor(arc / this.portCount);
  }

  /** @param {number} node @param {number} other @returns {number} the arc between them, or -1 */
  arcBetween(node, other) {
    for (let index = 0; index < this.portCount; index++) {
      const arc = node * this.portCount + index;
      if (this.neighbors[arc] === other) return arc;
    }
    return -1;
  }

  /** @param {number} link @returns {string} such as `12345-32145` */
  linkText(link) {
    const arc = this.linkArc[link];
    return `${this.labels[this.sender(arc)]}-${this.labels[this.neighbors[arc]]}`;
  }

  /** @param {string} text a label, or `#` and a rank @returns {number} the rank, or -1 */
  find(text) {
    const label = text.trim().toLowerCase();
    if (/^#\d+$/.test(label) && Number(label.slice(1)) < this.nodeCount) return Number(label.slice(1));
    return this.ranks.get(label) ?? -1;
  }
}

const SYMBOLS = "123456789abcdefghijklmnopqrstuvwxyz";

/** @param {TopologyData} data @returns {string[]} */
function computeLabels(data) {
  if (data.family === "hypercube") {
    return Array.from({ length: data.node_count }, (_, rank) => rank.toString(2).padStart(data.n, "0"));
  }
  /** @type {string[]} */
  const labels = [];
  const length = data.k ?? data.n;
  /** @param {number[]} prefix @param {number[]} rest */
  const extend = (prefix, rest) => {
    if (prefix.length === length) {
      labels.push(prefix.map((symbol) => SYMBOLS[symbol]).join(""));
      return;
    }
    rest.forEach((symbol, place) => {
      extend([...prefix, symbol], [...rest.slice(0, place), ...rest.slice(place + 1)]);
    });
  };
  extend([], Array.from({ length: data.n }, (_, symbol) => symbol));
  return labels;
}

/** Up to this number of nodes, links are bent around nodes that they would cross. */
const MOST_BENT = 200;

/** A link that leaves the picture is drawn as a stub at each end; this is a stub's share of the length. */
export const STUB = 0.6;
/** The translations under which the torus layout repeats, as in `starcast.drawing.layouts`. */
const TORUS_PERIODS = [[6, 0], [3, 3 * Math.sqrt(3)]];

/**
 * The items that are drawn: one for each node or, in a quotient, for all nodes at the same place.
 * `x` and `y` are the positions of the items, `itemOf` the item of each node, `a` and `b` the ends of
 * the drawn links, `weight` how many links each drawn link stands for, `drawnLink` the drawn link of
 * each link (-1 inside an item). On a torus, a link may leave the picture and enter it at the other
 * side; `shiftX` and `shiftY` are then added to the position of its end `b` (otherwise they are 0).
 */
export class Drawing {
  /** @param {Network} network @param {Float32Array} positions @param {string} layout */
  constructor(network, positions, layout) {
    this.network = network;
    this.layout = layout;
    this.isQuotient = layout === "quotient";
    this.itemOf = new Int32Array(network.nodeCount);
    /** @type {number[]} */
    this.first = [];
    if (this.isQuotient) this.group(positions);
    else for (let node = 0; node < network.nodeCount; node++) this.itemOf[node] = node;
    this.count = this.isQuotient ? this.first.length : network.nodeCount;
    this.x = new Float32Array(this.count);
    this.y = new Float32Array(this.count);
    this.size = new Int32Array(this.count);
    for (let node = 0; node < network.nodeCount; node++) {
      const item = this.itemOf[node];
      this.x[item] = positions[2 * node];
      this.y[item] = positions[2 * node + 1];
      this.size[item]++;
    }
    const { drawnLink, a, b, weight } = this.join();
    /** the drawn link of each link, or -1 inside an item */
    this.drawnLink = drawnLink;
    this.a = a;
    this.b = b;
    /** the number of links that a drawn link stands for */
    this.weight = weight;
    this.linkCount = a.length;
    /** the index of the port of each drawn link */
    this.port = new Int16Array(this.linkCount);
    drawnLink.forEach((drawn, link) => {
      if (drawn >= 0) this.port[drawn] = network.linkArc[link] % network.portCount;
    });
    this.shiftX = new Float32Array(this.linkCount);
    this.shiftY = new Float32Array(this.linkCount);
    if (layout === "torus") this.wrap();
    /** how far the middle of a link is moved to its left, so that it passes no other node */
    this.bend = new Float32Array(this.linkCount);
    if (layout !== "torus" && !this.isQuotient && network.nodeCount <= MOST_BENT) this.bendLinks();
  }

  /** @param {number} link @returns {boolean} whether it leaves the picture and comes back */
  isWrapped(link) {
    return this.shiftX[link] !== 0 || this.shiftY[link] !== 0;
  }

  bendLinks() {
    const near = 0.25 * this.spacing();
    const box = this.bounds();
    const cx = (box.left + box.right) / 2;
    const cy = (box.top + box.bottom) / 2;
    for (let link = 0; link < this.linkCount; link++) {
      const [a, b] = [this.a[link], this.b[link]];
      const dx = this.x[b] - this.x[a];
      const dy = this.y[b] - this.y[a];
      const length = Math.hypot(dx, dy);
      for (let item = 0; item < this.count; item++) {
        if (item === a || item === b) continue;
        const along = ((this.x[item] - this.x[a]) * dx + (this.y[item] - this.y[a]) * dy) / length;
        const away = ((this.x[item] - this.x[a]) * dy - (this.y[item] - this.y[a]) * dx) / length;
        if (along <= 0 || along >= length || Math.abs(away) >= near) continue;
        // Seen from their outer ends, all links bend to the same side, which keeps the rotational symmetry.
        const fromA = Math.hypot(this.x[a] - cx, this.y[a] - cy);
        const fromB = Math.hypot(this.x[b] - cx, this.y[b] - cy);
        this.bend[link] = (fromA > fromB ? 1 : -1) * (0.5 * this.spacing() + 0.12 * length);
        break;
      }
    }
  }

  /** @param {Float32Array} positions */
  group(positions) {
    /** @type {Map<string, number>} */
    const items = new Map();
    for (let node = 0; node < this.network.nodeCount; node++) {
      const place = `${positions[2 * node]} ${positions[2 * node + 1]}`;
      if (!items.has(place)) {
        items.set(place, items.size);
        this.first.push(node);
      }
      this.itemOf[node] = items.get(place) ?? 0;
    }
  }

  /** Join the links between the same items. */
  join() {
    const { network } = this;
    const drawnLink = new Int32Array(network.linkCount).fill(-1);
    /** @type {Map<number, number>} */
    const known = new Map();
    const a = [];
    const b = [];
    const weight = [];
    for (let link = 0; link < network.linkCount; link++) {
      const arc = network.linkArc[link];
      const from = this.itemOf[network.sender(arc)];
      const to = this.itemOf[network.neighbors[arc]];
      if (from === to) continue;
      const pair = this.isQuotient ? Math.min(from, to) * this.count + Math.max(from, to) : link;
      let drawn = this.isQuotient ? known.get(pair) : undefined;
      if (drawn === undefined) {
        drawn = a.length;
        if (this.isQuotient) known.set(pair, drawn);
        a.push(from);
        b.push(to);
        weight.push(0);
      }
      weight[drawn]++;
      drawnLink[link] = drawn;
    }
    return { drawnLink, a: Int32Array.from(a), b: Int32Array.from(b), weight: Int32Array.from(weight) };
  }

  wrap() {
    for (let link = 0; link < this.linkCount; link++) {
      const dx = this.x[this.b[link]] - this.x[this.a[link]];
      const dy = this.y[this.b[link]] - this.y[this.a[link]];
      let nearest = Math.hypot(dx, dy);
      for (let i = -1; i <= 1; i++) {
        for (let j = -1; j <= 1; j++) {
          const sx = i * TORUS_PERIODS[0][0] + j * TORUS_PERIODS[1][0];
          const sy = i * TORUS_PERIODS[0][1] + j * TORUS_PERIODS[1][1];
          const length = Math.hypot(dx + sx, dy + sy);
          if (length < nearest - 1e-3) {
            nearest = length;
            this.shiftX[link] = sx;
            this.shiftY[link] = sy;
          }
        }
      }
    }
  }

  /** @returns {{left: number, top: number, right: number, bottom: number}} */
  bounds() {
    const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
    for (let item = 0; item < this.count; item++) {
      box.left = Math.min(box.left, this.x[item]);
      box.right = Math.max(box.right, this.x[item]);
      box.top = Math.min(box.top, this.y[item]);
      box.bottom = Math.max(box.bottom, this.y[item]);
    }
    for (let link = 0; link < this.linkCount; link++) {
      if (!this.isWrapped(link)) continue;
      const { x, y } = this;
      const [a, b] = [this.a[link], this.b[link]];
      const dx = STUB * (x[b] + this.shiftX[link] - x[a]);
      const dy = STUB * (y[b] + this.shiftY[link] - y[a]);
      box.left = Math.min(box.left, x[a] + dx, x[b] - dx);
      box.right = Math.max(box.right, x[a] + dx, x[b] - dx);
      box.top = Math.min(box.top, y[a] + dy, y[b] - dy);
      box.bottom = Math.max(box.bottom, y[a] + dy, y[b] - dy);
    }
    return box;
  }

  /** @returns {number} the typical distance between nearest items, which determines their radius */
  spacing() {
    if (this.gap !== undefined) return this.gap;
    const step = Math.max(1, Math.floor(this.count / 64));
    const distances = [];
    for (let item = 0; item < this.count; item += step) {
      let nearest = Infinity;
      for (let other = 0; other < this.count; other++) {
        if (other === item) continue;
        const squared = (this.x[other] - this.x[item]) ** 2 + (this.y[other] - this.y[item]) ** 2;
        if (squared < nearest) nearest = squared;
      }
      distances.push(Math.sqrt(nearest));
    }
    this.gap = Math.min(...distances);
    if (!Number.isFinite(this.gap)) this.gap = 1;
    return this.gap;
  }

  /** @param {number} item @returns {string} the label of a node, or `*45` for a substar */
  itemText(item) {
    const { labels } = this.network;
    if (!this.isQuotient) return labels[item];
    const symbols = this.network.nodeCount >= 720 ? 2 : 1;
    return `*${labels[this.first[item]].slice(-symbols)}`;
  }
}
