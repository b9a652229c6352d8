/** The trees of a forest, given by the port of every node towards its parent. */

/** @typedef {import("./network.js").Network} Network */
/** @typedef {import("./source.js").ForestData} ForestData */

export class ForestModel {
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
      current = this.network.neighbors[arc];
    }
    return arcs.reverse();
  }

  /** @param {number[]} trees @returns {Int16Array} how many trees use each arc, from parent to child */
  load(trees) {
    const load = new Int16Array(this.network.neighbors.length);
    for (const tree of trees) {
      for (let node = 0; node < this.network.nodeCount; node++) {
        const arc = this.arcToParent(tree, node);
        if (arc >= 0) load[this.network.opposite(arc)]++;
      }
    }
    return load;
  }
}
