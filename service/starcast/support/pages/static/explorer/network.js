/** A topology with numbered links, the trees of a forest on it, and disjoint paths between two nodes. */

/** @import { ForestData, TopologyData } from "./source.js" */

/**
 * An arc is a directed link; its number is `node * portCount + port index`. `linkOf` has the number of
 * the undirected link for each arc, -1 where its node has no link, and `linkArc` has one of the two arcs for each link.
 */
export class Network {
  /** @param {TopologyData} data @param {Int32Array} neighbours `[nodes, ports]` */
  constructor(data, neighbours) {
    this.data = data;
    this.nodeCount = data.nodes;
    /** the number of nodes that are not switches; these nodes come first */
    this.endpointCount = data.endpoints;
    this.portCount = data.ports.length;
    this.neighbours = neighbours;
    this.labels = data.labels;
    /** @type {Map<string, number>} */
    this.ranks = new Map(this.labels.map((label, rank) => [label, rank]));
    /** the index of each port number, -1 for none */
    this.portIndex = new Int16Array(256).fill(-1);
    data.ports.forEach((port, index) => (this.portIndex[port] = index));
    this.reverse = data.reverse_ports.map((port) => data.ports.indexOf(port));
    const arcs = this.nodeCount * this.portCount;
    this.linkOf = new Int32Array(arcs).fill(-1);
    const linkArc = new Int32Array(arcs);
    let count = 0;
    for (let arc = 0; arc < arcs; arc++) {
      const node = Math.floor(arc / this.portCount);
      // A node without a link at a port is its own neighbour there.
      if (node >= neighbours[arc]) continue;
      this.linkOf[arc] = count;
      this.linkOf[this.opposite(arc)] = count;
      linkArc[count++] = arc;
    }
    this.linkArc = linkArc.slice(0, count);
    this.linkCount = count;
  }

  /** @param {number} arc @returns {number} the arc in the other direction */
  opposite(arc) {
    return this.neighbours[arc] * this.portCount + this.reverse[arc % this.portCount];
  }

  /** @param {number} arc @returns {number} */
  sender(arc) {
    return Math.floor(arc / this.portCount);
  }

  /** @param {number} arc @returns {number} the number of the port by which the arc leaves its node */
  portOf(arc) {
    return this.data.ports[arc % this.portCount];
  }

  /** @param {number} node @returns {number[]} the arcs from a node, in the order of its ports */
  arcsFrom(node) {
    return this.data.ports.map((_, index) => node * this.portCount + index).filter((arc) => this.neighbours[arc] !== node);
  }

  /** @param {number} node @param {number} other @returns {number} the arc from the node to the other node, or -1 */
  arcBetween(node, other) {
    return this.arcsFrom(node).find((arc) => this.neighbours[arc] === other) ?? -1;
  }

  /** @param {number} link @returns {string} such as `12345-32145` */
  linkText(link) {
    const arc = this.linkArc[link];
    return `${this.labels[this.sender(arc)]}-${this.labels[this.neighbours[arc]]}`;
  }

  /** @param {number} link @returns {string} the link's capacity and latency, such as `, capacity 4`, where links differ */
  linkValues(link) {
    const { link_capacities: capacities, link_latencies: latencies } = this.data;
    return (capacities ? `, capacity ${capacities[link]}` : "") + (latencies ? `, latency ${latencies[link]}` : "");
  }

  /** @param {string} text a label, or `#` and a rank @returns {number} the rank, or -1 */
  find(text) {
    const label = text.trim();
    if (/^#\d+$/.test(label) && Number(label.slice(1)) < this.nodeCount) return Number(label.slice(1));
    return this.ranks.get(label) ?? this.ranks.get(label.toLowerCase()) ?? -1;
  }
}

export class Forest {
  /** @param {Network} network @param {ForestData} data @param {Uint8Array} parentPorts */
  constructor(network, data, parentPorts) {
    this.network = network;
    this.data = data;
    this.parentPorts = parentPorts;
    this.treeCount = parentPorts.length / network.nodeCount;
  }

  /** @param {number} tree @param {number} node @returns {number} the arc to the parent, or -1 */
  arcToParent(tree, node) {
    const port = this.parentPorts[tree * this.network.nodeCount + node];
    return port ? node * this.network.portCount + this.network.portIndex[port] : -1;
  }

  /** @param {number} tree @param {number} node @returns {number[] | null} arcs from the root */
  path(tree, node) {
    /** @type {number[]} */
    const arcs = [];
    let current = node;
    while (current !== this.data.root) {
      const arc = this.arcToParent(tree, current);
      if (arc < 0 || arcs.length > this.network.nodeCount) return null;
      arcs.push(this.network.opposite(arc));
      current = this.network.neighbours[arc];
    }
    return arcs.reverse();
  }

  /** @param {number[]} trees @returns {Int16Array} how many trees use each arc, from parent to child */
  load(trees) {
    const load = new Int16Array(this.network.neighbours.length);
    for (const tree of trees) {
      for (let node = 0; node < this.network.nodeCount; node++) {
        const arc = this.arcToParent(tree, node);
        if (arc >= 0) load[this.network.opposite(arc)]++;
      }
    }
    return load;
  }
}

/**
 * Find the maximum number of internally disjoint paths between two nodes, with minimum total length, by
 * successive shortest paths, like `starcast.topologies.disjoint_paths`. Every node is split into an
 * entry (side 2 * node) and an exit (2 * node + 1); a path may undo a part of an earlier path.
 *
 * @param {Network} network @param {number} source @param {number} target another node
 * @returns {number[][]} the arcs of each path from source to target, the shortest path first
 */
export function findDisjointPaths(network, source, target) {
  /** @type {Set<number>} the arcs of the paths found so far */
  const used = new Set();
  while (addPath(network, source, target, used));
  const following = new Map([...used].map((arc) => [network.sender(arc), arc]));
  const firstArcs = [...used].filter((arc) => network.sender(arc) === source);
  const paths = firstArcs.map((first) => {
    const path = [first];
    for (let node = network.neighbours[first]; node !== target; node = network.neighbours[path[path.length - 1]]) {
      path.push(/** @type {number} */ (following.get(node)));
    }
    return path;
  });
  return paths.sort((left, right) => left.length - right.length || left[0] - right[0]);
}

/**
 * Add the arcs of another path, if one exists.
 *
 * @param {Network} network @param {number} source @param {number} target @param {Set<number>} used
 * @returns {boolean} whether another path exists
 */
function addPath(network, source, target, used) {
  const { nodeCount, neighbours } = network;
  /** the arc by which a path enters a node, or -1 */
  const entering = new Int32Array(nodeCount).fill(-1);
  for (const arc of used) entering[neighbours[arc]] = arc;
  entering[target] = -1;
  const cost = new Float64Array(2 * nodeCount).fill(Infinity);
  const previous = new Int32Array(2 * nodeCount).fill(-1);
  const queue = [2 * source + 1];
  cost[queue[0]] = 0;
  /** @param {number} side @param {number} next @param {number} length */
  const relax = (side, next, length) => {
    if (cost[side] + length >= cost[next]) return;
    cost[next] = cost[side] + length;
    previous[next] = side;
    queue.push(next);
  };
  for (let at = 0; at < queue.length; at++) {
    const side = queue[at];
    const node = side >> 1;
    const back = entering[node];
    if (side % 2 === 0) {
      if (node === target) continue;
      if (back < 0) relax(side, side + 1, 0);
      else if (network.sender(back) !== source) relax(side, 2 * network.sender(back) + 1, -1);
      continue;
    }
    if (back >= 0) relax(side, side - 1, 0);
    for (const arc of network.arcsFrom(node)) {
      if (!used.has(arc) && neighbours[arc] !== source) relax(side, 2 * neighbours[arc], 1);
    }
  }
  if (cost[2 * target] === Infinity) return false;
  for (let side = 2 * target; previous[side] >= 0; side = previous[side]) {
    const [from, to] = [previous[side], side];
    if (from % 2 === 1 && to % 2 === 0 && from >> 1 !== to >> 1) used.add(network.arcBetween(from >> 1, to >> 1));
    else if (from % 2 === 0 && from >> 1 !== to >> 1) used.delete(network.arcBetween(to >> 1, from >> 1));
  }
  return true;
}
