/**
 * Internally disjoint paths between two nodes: the maximum number of paths, with minimum total length,
 * found by successive shortest paths, as in `starcast.topologies.disjoint_paths`. Every node is split
 * into an entry (side 2 * node) and an exit (2 * node + 1); a path may undo a part of an earlier path.
 */

/** @typedef {import("./main.js").Explorer} Explorer */
/** @typedef {import("./network.js").Network} Network */

const UNREACHED = 2 ** 30;

/** @param {Explorer} explorer @returns {number[][] | null} paths from the marked node to the selected node */
export function findShownPaths({ network, state: { from, node } }) {
  return from < 0 || node < 0 || from === node ? null : findDisjointPaths(network, from, node);
}

/** Show the disjoint paths from the selected node to the next selection, or hide them. @param {Explorer} explorer */
export function togglePaths(explorer) {
  const { network, state } = explorer;
  if (state.from < 0 && state.node < 0) return;
  state.from = state.from < 0 ? state.node : -1;
  explorer.refresh();
  const label = network.labels[state.from];
  explorer.announce(label ? `disjoint paths from ${label}: select another node` : "no disjoint paths");
}

/**
 * @param {Network} network @param {number} source @param {number} target another node
 * @returns {number[][]} the arcs of each path from source to target, the shortest path first
 */
function findDisjointPaths(network, source, target) {
  /** @type {Set<number>} the arcs of the paths found so far */
  const used = new Set();
  while (addPath(network, source, target, used));
  const following = new Map([...used].map((arc) => [network.sender(arc), arc]));
  const firstArcs = [...used].filter((arc) => network.sender(arc) === source);
  const paths = firstArcs.map((first) => {
    const path = [first];
    for (let node = network.neighbors[first]; node !== target; node = network.neighbors[path[path.length - 1]]) {
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
  const { nodeCount, portCount, neighbors } = network;
  /** the arc by which a path enters a node, or -1 */
  const entering = new Int32Array(nodeCount).fill(-1);
  for (const arc of used) entering[neighbors[arc]] = arc;
  entering[target] = -1;
  const cost = new Int32Array(2 * nodeCount).fill(UNREACHED);
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
    for (let arc = node * portCount; arc < (node + 1) * portCount; arc++) {
      if (!used.has(arc) && neighbors[arc] !== source) relax(side, 2 * neighbors[arc], 1);
    }
  }
  if (cost[2 * target] === UNREACHED) return false;
  for (let side = 2 * target; previous[side] >= 0; side = previous[side]) {
    const [from, to] = [previous[side], side];
    if (from % 2 === 1 && to % 2 === 0 && from >> 1 !== to >> 1) used.add(network.arcBetween(from >> 1, to >> 1));
    else if (from % 2 === 0 && from >> 1 !== to >> 1) used.delete(network.arcBetween(to >> 1, from >> 1));
  }
  return true;
}
