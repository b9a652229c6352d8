/** Moving from node to node with the keyboard: across a port, or in a direction. */

/** @typedef {import("./main.js").Explorer} Explorer */

/** The smallest cosine of the angle between a link and the direction of an arrow key. */
const LEAST_LIKENESS = 0.2;

/** @param {Explorer} explorer @returns {number} the selected node, or else the focused node, or -1 */
function currentNode({ state, drawing, network }) {
  if (state.node >= 0) return state.node;
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  const label = drawing?.isQuotient ? "" : focused?.dataset.node;
  return label ? network.find(label) : -1;
}

/** @param {Explorer} explorer */
function selectStart(explorer) {
  explorer.select(Math.max(explorer.scene?.marks.root ?? 0, 0));
}

/** @param {Explorer} explorer @param {number} port */
export function cross(explorer, port) {
  const { network } = explorer;
  const index = network.data.ports.indexOf(port);
  if (index < 0) return;
  const node = currentNode(explorer);
  if (node < 0) selectStart(explorer);
  else explorer.select(network.neighbors[node * network.portCount + index], port);
}

/**
 * Cross the port whose link is closest to a direction.
 *
 * @param {Explorer} explorer @param {number} dx @param {number} dy
 */
export function move(explorer, dx, dy) {
  const { network, drawing } = explorer;
  if (!drawing) return;
  const node = currentNode(explorer);
  if (node < 0) {
    selectStart(explorer);
    return;
  }
  let best = LEAST_LIKENESS;
  let port = 0;
  for (let index = 0; index < network.portCount; index++) {
    const other = network.neighbors[node * network.portCount + index];
    const x = drawing.x[drawing.itemOf[other]] - drawing.x[drawing.itemOf[node]];
    const y = drawing.y[drawing.itemOf[other]] - drawing.y[drawing.itemOf[node]];
    const likeness = (x * dx + y * dy) / (Math.hypot(x, y) || 1);
    if (likeness > best) {
      best = likeness;
      port = network.data.ports[index];
    }
  }
  if (port) cross(explorer, port);
  else explorer.announce("no link leads that way");
}
