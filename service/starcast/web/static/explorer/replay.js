/**
 * The execution of a schedule's rows under faults, step by step, as `starcast.simulate` executes
 * them: a row whose link is down or whose sender does not hold the unit is dropped.
 */

/** @import { Network } from "./network.js" */
/** @import { ScheduleData } from "./source.js" */
/** @typedef {{node: number, link: number, step: number}} Fault node or link is -1 */

/** The largest number of rows to which a symmetric schedule is expanded. */
const MOST_ROWS = 4_000_000;
const MOST_BITS = 2 ** 28;
/** The number of missing units that are listed. */
const MOST_EXAMPLES = 10;
const MANY_SENDERS = ["allgather", "gather", "alltoall"];
/** The columns that a translation does not change. */
const UNCHANGED = /** @type {const} */ (["step", "port", "tree", "combine"]);
/** @type {Record<string, string>} the collective that the rows of one source execute */
const OF_ONE_SOURCE = { allgather: "broadcast", alltoall: "scatter", "reduce-scatter": "reduce" };
/** @type {Record<string, number>} the power of the number of nodes to which the number of units is proportional */
const POWERS = { allgather: 1, scatter: 1, gather: 1, alltoall: 2, "reduce-scatter": 1 };
/** Collectives in which every node contributes to every unit; they have the column combine. */
const REDUCTIONS = ["reduce", "reduce-scatter", "allreduce"];

/** @typedef {ReturnType<typeof splitRows>} Rows the rows of a schedule in the order of time, as columns */

/**
 * @param {Int32Array} values `[columns, rows]`: step, sender, port, receiver, tree, unit and, in
 *   reductions, combine
 * @param {number} count the number of rows
 */
export function splitRows(values, count) {
  const column = (/** @type {number} */ at) => values.subarray(at * count, (at + 1) * count);
  const [step, sender, port, receiver, tree, unit, combine] = [0, 1, 2, 3, 4, 5, 6].map(column);
  return { count, step, sender, port, receiver, tree, unit, combine };
}

/** A set of (node, unit) pairs: an array of bits or, if that would be too large, a `Set` of numbers. */
class Pairs {
  /** @param {number} nodes @param {number} units */
  constructor(nodes, units) {
    this.units = units;
    this.bits = nodes * units <= MOST_BITS ? new Uint32Array(Math.ceil((nodes * units) / 32)) : null;
    /** @type {Set<number>} */
    this.keys = new Set();
  }

  /** @param {number} node @param {number} unit @returns {boolean} */
  has(node, unit) {
    const key = node * this.units + unit;
    if (!this.bits) return this.keys.has(key);
    return ((this.bits[Math.floor(key / 32)] >>> (key % 32)) & 1) === 1;
  }

  /** @param {number} node @param {number} unit */
  add(node, unit) {
    const key = node * this.units + unit;
    if (this.bits) this.bits[Math.floor(key / 32)] |= 1 << (key % 32);
    else this.keys.add(key);
  }
}

/** @param {Network} network @param {ScheduleData} data @returns {string} why the rows of all sources cannot be shown, or "" */
export function whyNotAllSources(network, data) {
  if (!data.symmetric) return "the schedule has one root";
  if (!network.data.translation_keeps_ports) return `translations of ${network.data.spec} change ports`;
  const rows = data.row_count * network.nodeCount;
  if (rows <= MOST_ROWS) return "";
  return `${rows.toLocaleString("en")} rows are too many; a page shows ${MOST_ROWS.toLocaleString("en")}`;
}

/**
 * Expand a symmetric schedule to the rows of all sources, as `Schedule.expand` does.
 *
 * To translate a node to a source, follow the ports of its shortest path from the root, but begin at
 * the source.
 *
 * @param {Network} network @param {ScheduleData} data @param {Rows} rows
 * @returns {{data: ScheduleData, rows: Rows}}
 */
export function expandRows(network, data, rows) {
  const nodes = network.nodeCount;
  const total = rows.count * nodes;
  const out = splitRows(new Int32Array((rows.combine.length ? 7 : 6) * total), total);
  const multiplicity = data.unit_count / nodes;
  const arcs = spanningArcs(network, data.root);
  const images = Array.from({ length: nodes }, (_, source) => {
    const image = new Int32Array(nodes);
    image[data.root] = source;
    for (const arc of arcs) {
      const port = arc % network.portCount;
      image[network.neighbors[arc]] = network.neighbors[image[network.sender(arc)] * network.portCount + port];
    }
    return image;
  });
  // The inner loop is over the sources, so that the expanded rows stay in the order of time.
  for (let row = 0, at = 0; row < rows.count; row++) {
    const unit = rows.unit[row];
    for (let source = 0; source < nodes; source++, at++) {
      const image = images[source];
      for (const name of UNCHANGED) if (rows[name].length) out[name][at] = rows[name][row];
      out.sender[at] = image[rows.sender[row]];
      out.receiver[at] = image[rows.receiver[row]];
      const destination = image[Math.floor(unit / multiplicity)];
      const isAddressed = data.collective === "alltoall";
      out.unit[at] = isAddressed
        ? (source * nodes + destination) * multiplicity + (unit % multiplicity)
        : source * data.unit_count + unit;
    }
  }
  const expanded = { ...data, symmetric: false, unit_count: data.unit_count * nodes, row_count: total };
  return { data: expanded, rows: out };
}

/** @param {Network} network @param {number} root @returns {number[]} arcs of a tree, by level */
function spanningArcs(network, root) {
  const seen = new Set([root]);
  const arcs = [];
  for (const node of seen) {
    for (const arc of network.arcsFrom(node)) {
      if (seen.has(network.neighbors[arc])) continue;
      seen.add(network.neighbors[arc]);
      arcs.push(arc);
    }
  }
  return arcs;
}

export class Replay {
  /**
   * @param {Network} network @param {ScheduleData} data @param {Rows} rows
   * @param {Fault[]} faults
   */
  constructor(network, data, rows, faults = []) {
    this.network = network;
    this.data = data;
    this.rows = rows;
    this.faults = faults;
    this.steps = data.steps;
    // In a symmetric schedule, the rows of one source are executed as a broadcast, scatter or reduce.
    this.collective = data.collective;
    if (data.symmetric) this.collective = OF_ONE_SOURCE[data.collective] ?? data.collective;
    this.toAll = ["broadcast", "allgather", "allreduce"].includes(this.collective);
    this.reduces = REDUCTIONS.includes(this.collective);
    this.multiplicity = Math.max(Math.floor(data.unit_count / network.nodeCount ** (POWERS[this.collective] ?? 0)), 1);
    /** the first step in which each arc is down */
    this.downFrom = this.findOutages();
    this.alive = new Uint8Array(network.nodeCount).fill(1);
    for (const fault of faults) if (fault.node >= 0) this.alive[fault.node] = 0;
    this.held = new Pairs(network.nodeCount, Math.max(data.unit_count, 1));
    /** the number of units that each node holds from the start */
    this.initial = new Int32Array(network.nodeCount);
    /** the number of contributions that make a unit complete: one from each node that never dies */
    this.contributors = this.alive.reduce((sum, each) => sum + each, 0);
    for (let unit = 0; unit < data.unit_count && !this.reduces; unit++) {
      this.held.add(this.source(unit), unit);
      this.initial[this.source(unit)]++;
    }
    this.executed = new Uint8Array(rows.count);
    /** 1 for each row that brings a unit that its receiver lacks */
    this.isNew = new Uint8Array(rows.count);
    /** the first row of each step, and of the step after the last */
    this.firstRow = new Int32Array(this.steps + 2).fill(rows.count);
    for (let row = rows.count - 1; row >= 0; row--) this.firstRow[rows.step[row]] = row;
    for (let step = this.steps; step > 0; step--) {
      this.firstRow[step] = Math.min(this.firstRow[step], this.firstRow[step + 1]);
    }
    if (this.reduces) this.executeSums();
    else this.execute();
    this.figures = this.profile();
    /** the units that are missing after the last step, if there are faults */
    this.result = faults.length ? this.findMissing() : null;
    /** the most units that a node holds in the end */
    this.mostHeld = 1;
    this.heldAfter(this.steps).forEach((count, node) => {
      // The source of a scatter holds all units from the start, so it would make other nodes pale.
      if (!this.initial[node] || this.toAll) this.mostHeld = Math.max(this.mostHeld, count);
    });
  }

  /**
   * Execute a reduction up to a step: count the contributions in the partial sums of each node, as
   * the simulator does. Copies of a unit, which differ in tree, are added up separately.
   *
   * @param {number} last the last step
   * @returns {Int32Array} `[nodes, units]`, the contributions that nodes hold
   */
  executeSums(last = this.steps) {
    const { rows, data, network } = this;
    const nodes = network.nodeCount;
    const trees = 1 + rows.tree.reduce((most, tree) => Math.max(most, tree), 0);
    /** @type {Map<number, number>} the sums that differ from the node's own contribution */
    const sums = new Map();
    /** @param {number} node @param {number} row @returns {number} */
    const key = (node, row) => (node * data.unit_count + rows.unit[row]) * trees + rows.tree[row];
    const held = new Int32Array(nodes * data.unit_count);
    for (let node = 0; node < nodes; node++) {
      held.fill(this.alive[node], node * data.unit_count, (node + 1) * data.unit_count);
    }
    for (let step = 1; step <= last; step++) {
      const [begin, end] = this.span(step);
      const sent = [];
      for (let row = begin; row < end; row++) {
        const sender = rows.sender[row];
        const complete = held[sender * data.unit_count + rows.unit[row]] === this.contributors;
        const up = step < this.downFrom[this.arcOf(row)];
        this.executed[row] = up && (rows.combine[row] || complete) ? 1 : 0;
        sent.push(rows.combine[row] ? sums.get(key(sender, row)) ?? this.alive[sender] : this.contributors);
      }
      for (let row = begin; row < end; row++) {
        if (!this.executed[row]) continue;
        const node = rows.receiver[row];
        const own = rows.combine[row] ? sums.get(key(node, row)) ?? this.alive[node] : 0;
        const sum = own + sent[row - begin];
        sums.set(key(node, row), sum);
        const place = node * data.unit_count + rows.unit[row];
        held[place] = Math.max(held[place], sum);
        if (held[place] === this.contributors) this.held.add(node, rows.unit[row]);
      }
    }
    return held;
  }

  /**
   * @param {number} step @param {number} unit the unit, or -1 for all
   * @returns {{held: Int32Array, full: number}} the units or, in a reduction, the contributions that
   *   each node holds after a step, and the number that is shown in the full colour
   */
  progress(step, unit) {
    if (!this.reduces) return { held: this.heldAfter(step, unit), full: unit < 0 ? this.mostHeld : 1 };
    const all = this.executeSums(step);
    const units = this.data.unit_count;
    const held = Int32Array.from({ length: this.network.nodeCount }, (_, node) => {
      const own = all.subarray(node * units, (node + 1) * units);
      return unit < 0 ? own.reduce((sum, each) => sum + each, 0) : own[unit];
    });
    return { held, full: this.contributors * (unit < 0 ? units : 1) };
  }

  /** @param {number} held @param {number} full @param {number} unit @returns {string} the progress of a node in words */
  describe(held, full, unit) {
    if (this.reduces) return held === full ? "complete" : `incomplete: ${held} of ${full} contributions`;
    return unit < 0 ? `holds ${held}` : held ? "holds it" : "lacks it";
  }

  /** @param {number} unit @returns {number} the node that holds the unit from the start */
  source(unit) {
    if (this.collective === "alltoall") {
      return Math.floor(unit / (this.multiplicity * this.network.nodeCount));
    }
    if (MANY_SENDERS.includes(this.collective)) return Math.floor(unit / this.multiplicity);
    return this.data.root;
  }

  /** @param {number} unit @returns {number} the destination of the unit, if it has one */
  destination(unit) {
    if (this.collective === "gather" || this.collective === "reduce") return this.data.root;
    return Math.floor(unit / this.multiplicity) % this.network.nodeCount;
  }

  /** Execute the rows step by step: a unit that arrives can be sent in the next step. */
  execute() {
    const { rows } = this;
    for (let step = 1; step <= this.steps; step++) {
      const [begin, end] = this.span(step);
      for (let row = begin; row < end; row++) {
        const up = step < this.downFrom[this.arcOf(row)];
        this.executed[row] = up && this.held.has(rows.sender[row], rows.unit[row]) ? 1 : 0;
      }
      for (let row = begin; row < end; row++) {
        if (!this.executed[row] || this.held.has(rows.receiver[row], rows.unit[row])) continue;
        this.held.add(rows.receiver[row], rows.unit[row]);
        this.isNew[row] = 1;
      }
    }
  }

  /** @param {number} row @returns {number} */
  arcOf(row) {
    const { network, rows } = this;
    return rows.sender[row] * network.portCount + network.portIndex[rows.port[row]];
  }

  /** @returns {Float64Array} the first step in which each arc is down */
  findOutages() {
    const { network } = this;
    const down = new Float64Array(network.neighbors.length).fill(Infinity);
    for (const { node, link, step } of this.faults) {
      for (const arc of link >= 0 ? [network.linkArc[link]] : network.arcsFrom(node)) {
        for (const way of [arc, network.opposite(arc)]) down[way] = Math.min(down[way], step);
      }
    }
    return down;
  }

  /** @param {number} step @returns {[number, number]} the rows of a step, from and to */
  span(step) {
    if (step < 1 || step > this.steps) return [0, 0];
    return [this.firstRow[step], this.firstRow[step + 1]];
  }

  /**
   * @param {number} step @param {number} [unit] or -1 for all
   * @returns {Int32Array} the units that each node holds after a step: their number, or 1 or 0 for one unit
   */
  heldAfter(step, unit = -1) {
    const counts = unit < 0 ? this.initial.slice() : new Int32Array(this.network.nodeCount);
    if (unit >= 0) counts[this.source(unit)] = 1;
    const end = this.span(Math.min(step, this.steps))[1];
    for (let row = 0; row < end; row++) {
      if (this.isNew[row] && (unit < 0 || this.rows.unit[row] === unit)) counts[this.rows.receiver[row]]++;
    }
    return counts;
  }

  /** @param {number} node @param {number} step @returns {number[]} units, ascending */
  unitsAt(node, step) {
    /** @type {number[]} */
    const units = [];
    if (this.reduces) {
      const first = node * this.data.unit_count;
      const own = this.executeSums(step).subarray(first, first + this.data.unit_count);
      own.forEach((count, unit) => count === this.contributors && units.push(unit));
      return units;
    }
    if (this.initial[node]) {
      for (let unit = 0; unit < this.data.unit_count; unit++) {
        if (this.source(unit) === node) units.push(unit);
      }
    }
    const end = this.span(Math.min(step, this.steps))[1];
    for (let row = 0; row < end; row++) {
      if (this.isNew[row] && this.rows.receiver[row] === node) units.push(this.rows.unit[row]);
    }
    return units.sort((left, right) => left - right);
  }

  /**
   * The (node, unit) pairs that are missing in the end. Nodes that die need not receive any units, and
   * the units that they would have sent need not be delivered.
   *
   * @returns {{missing: number, undelivered: [number, number][], perNode: Int32Array}}
   */
  findMissing() {
    const { network, data, alive } = this;
    const perNode = new Int32Array(network.nodeCount);
    /** @type {[number, number][]} */
    const pairs = [];
    const isOwed = (/** @type {number} */ unit) => !MANY_SENDERS.includes(this.collective) || alive[this.source(unit)];
    const owed = Array.from({ length: data.unit_count }, (_, unit) => unit).filter(isOwed);
    let missing = 0;
    /** @param {number} node @param {number} unit */
    const check = (node, unit) => {
      if (!alive[node] || this.held.has(node, unit)) return;
      missing++;
      perNode[node]++;
      if (!this.toAll || pairs.length < MOST_EXAMPLES) pairs.push([node, unit]);
    };
    if (this.toAll) {
      for (let node = 0; node < network.nodeCount; node++) for (const unit of owed) check(node, unit);
    } else {
      for (const unit of owed) check(this.destination(unit), unit);
      pairs.sort((left, right) => left[0] - right[0] || left[1] - right[1]);
    }
    return { missing, undelivered: pairs.slice(0, MOST_EXAMPLES), perNode };
  }

  /**
   * Figures of every step: arcs used, units by port, and the largest number of units that an arc has
   * carried so far.
   */
  profile() {
    const { network, steps } = this;
    const linksUsed = new Int32Array(steps);
    const byPort = Array.from({ length: network.portCount }, () => new Int32Array(steps));
    const greatestLoad = new Int32Array(steps);
    const total = new Int32Array(network.neighbors.length);
    const now = new Int32Array(network.neighbors.length);
    let greatest = 0;
    for (let step = 1; step <= steps; step++) {
      const [begin, end] = this.span(step);
      for (let row = begin; row < end; row++) {
        if (!this.executed[row]) continue;
        const arc = this.arcOf(row);
        if (!now[arc]++) linksUsed[step - 1]++;
        greatest = Math.max(greatest, ++total[arc]);
        byPort[arc % network.portCount][step - 1]++;
      }
      for (let row = begin; row < end; row++) now[this.arcOf(row)] = 0;
      greatestLoad[step - 1] = greatest;
    }
    return { linksUsed, byPort, greatestLoad };
  }
}
