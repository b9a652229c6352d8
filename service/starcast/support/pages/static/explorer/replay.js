/** The execution of a schedule under faults, like `starcast.simulate`: rows whose link is down, or whose sender lacks the unit, are dropped. */

/** @import { Network } from "./network.js" */
/** @import { ScheduleData } from "./source.js" */
/** @typedef {{node: number, link: number, step: number}} Fault node or link is -1 */

/** The largest number of rows to which a symmetric schedule is expanded. */
const MOST_ROWS = 4_000_000;
const MOST_PAIRS = 2 ** 26;
/** The maximum number of (node, unit) pairs that are listed as missing. */
const MOST_EXAMPLES = 10;
const MANY_SENDERS = ["allgather", "gather", "alltoall"];
/** The columns that a translation does not change. */
const UNCHANGED = /** @type {const} */ (["step", "port", "tree", "combine"]);
/** @type {Record<string, string>} the collective that the rows of one source execute */
const OF_ONE_SOURCE = { allgather: "broadcast", alltoall: "scatter", "reduce-scatter": "reduce" };
/** @type {Record<string, number>} the exponent p for each collective whose number of units is a multiple of endpoints^p (0 for all others) */
const POWERS = { allgather: 1, scatter: 1, gather: 1, alltoall: 2, "reduce-scatter": 1 };
/** Collectives in which every endpoint contributes to every unit; they have the column combine. */
const REDUCTIONS = ["reduce", "reduce-scatter", "allreduce"];

/** @typedef {ReturnType<typeof splitRows>} Rows the rows of a schedule in the order of time, as columns */

/** @param {Int32Array} values `[columns, rows]`, in the order of the result @param {number} count the number of rows */
export function splitRows(values, count) {
  const column = (/** @type {number} */ at) => values.subarray(at * count, (at + 1) * count);
  const [step, sender, port, receiver, tree, unit, combine] = [0, 1, 2, 3, 4, 5, 6].map(column);
  return { count, step, sender, port, receiver, tree, unit, combine };
}

/** @param {Network} network @param {ScheduleData} data @returns {string} why the rows of all sources cannot be shown, or "" */
export function whyNotAllSources(network, data) {
  if (!data.symmetric) return "the schedule has one root";
  if (!network.data.translation_keeps_ports) return `translations of ${network.data.spec} change ports`;
  const rows = data.rows * network.nodeCount;
  if (rows <= MOST_ROWS) return "";
  return `${rows.toLocaleString("en")} rows are too many; a page shows ${MOST_ROWS.toLocaleString("en")}`;
}

/**
 * Expand a symmetric schedule to the rows of all sources, as `Schedule.expand` does.
 *
 * A translation maps the root to a source. To find the image of another node, follow the ports of the node's
 * shortest path from the root, but begin at the source.
 *
 * @param {Network} network @param {ScheduleData} data @param {Rows} rows
 * @returns {{data: ScheduleData, rows: Rows}}
 */
export function expandRows(network, data, rows) {
  const nodes = network.nodeCount;
  const total = rows.count * nodes;
  const out = splitRows(new Int32Array((rows.combine.length ? 7 : 6) * total), total);
  const multiplicity = data.units / nodes;
  /** the images of all nodes for each source; at first, only the image of the root is correct */
  const images = Array.from({ length: nodes }, (_, source) => new Int32Array(nodes).fill(source));
  const seen = new Set([data.root]);
  for (const node of seen) {
    for (const arc of network.arcsFrom(node)) {
      const next = network.neighbours[arc];
      if (seen.has(next)) continue;
      seen.add(next);
      const port = arc % network.portCount;
      for (const image of images) image[next] = network.neighbours[image[node] * network.portCount + port];
    }
  }
  // The inner loop is over the sources, so that the expanded rows stay in the order of time.
  for (let row = 0, at = 0; row < rows.count; row++) {
    const unit = rows.unit[row];
    for (const name of UNCHANGED) out[name].fill(rows[name][row], at, at + nodes);
    for (let source = 0; source < nodes; source++, at++) {
      const image = images[source];
      out.sender[at] = image[rows.sender[row]];
      out.receiver[at] = image[rows.receiver[row]];
      const destination = image[Math.floor(unit / multiplicity)];
      const isAddressed = data.collective === "alltoall";
      out.unit[at] = isAddressed
        ? (source * nodes + destination) * multiplicity + (unit % multiplicity)
        : source * data.units + unit;
    }
  }
  const expanded = { ...data, root: -1, symmetric: false, units: data.units * nodes, rows: total };
  return { data: expanded, rows: out };
}

export class Replay {
  /** @param {Network} network @param {ScheduleData} data @param {Rows} rows @param {Fault[]} faults */
  constructor(network, data, rows, faults = []) {
    this.network = network;
    this.data = data;
    this.rows = rows;
    this.faults = faults;
    this.steps = data.steps;
    this.trees = [...new Set(rows.tree)].sort((left, right) => left - right);
    // In a symmetric schedule, the rows of one source are executed as a broadcast, scatter or reduce.
    this.collective = data.collective;
    if (data.symmetric) this.collective = OF_ONE_SOURCE[data.collective] ?? data.collective;
    this.toAll = ["broadcast", "allgather", "allreduce"].includes(this.collective);
    this.reduces = REDUCTIONS.includes(this.collective);
    this.multiplicity = Math.max(Math.floor(data.units / network.endpointCount ** (POWERS[this.collective] ?? 0)), 1);
    /** the first step in which each arc is down */
    this.downFrom = this.findOutages();
    this.alive = new Uint8Array(network.nodeCount).fill(1);
    for (const fault of faults) if (fault.node >= 0) this.alive[fault.node] = 0;
    /**
     * The number of contributions in a complete unit: one from each endpoint that never dies. A unit that is
     * not summed up has one contribution, which its source holds from the start.
     */
    this.complete = this.reduces ? this.alive.reduce((sum, _, node) => sum + this.contribution(node), 0) : 1;
    const unitsOfSource = this.multiplicity * (this.collective === "alltoall" ? network.endpointCount : 1);
    const hasManySources = MANY_SENDERS.includes(this.collective);
    /** the node that holds each unit from the start */
    this.sources = Int32Array.from({ length: data.units }, (_, unit) => {
      return hasManySources ? Math.floor(unit / unitsOfSource) : data.root;
    });
    /** the contributions to all units that each node holds from the start */
    this.totals = Int32Array.from(this.alive, (_, node) => (this.reduces ? this.contribution(node) * data.units : 0));
    if (!this.reduces) for (const source of this.sources) this.totals[source]++;
    const pairs = network.nodeCount * data.units;
    /** the contributions that arrived for each (node, unit) pair @type {Record<number, number>} */
    this.arrived = pairs > MOST_PAIRS ? {} : new Uint16Array(pairs); // of very many pairs, most have no contributions
    this.executed = new Uint8Array(rows.count);
    /** the number of contributions that each row adds at its receiver */
    this.gain = new Uint16Array(rows.count);
    /** the number of rows up to each step, from step 0 on */
    this.ends = new Int32Array(this.steps + 1);
    for (const step of rows.step) this.ends[step]++;
    for (let step = 1; step <= this.steps; step++) this.ends[step] += this.ends[step - 1];
    this.execute();
    this.figures = this.profile();
    /** the units that are missing after the last step, if there are faults */
    this.result = faults.length ? this.findMissing() : null;
    /** the largest number of units that a node holds after the last step, for a schedule that is not a reduction */
    this.mostHeld = this.heldAfter(this.steps, -1).reduce((most, count, node) => {
      // The source of a scatter holds all units from the start, so it would make other nodes pale.
      return this.toAll || !this.totals[node] ? Math.max(most, count) : most;
    }, 1);
  }

  /**
   * Execute the rows step by step: a unit that arrives can be sent in the next step. The rows of a reduction
   * send partial sums, as in the simulator; copies of a unit, which differ in tree, are added up
   * separately.
   */
  execute() {
    const { rows, data, complete, downFrom, arrived } = this;
    const trees = 1 + (this.trees[this.trees.length - 1] ?? 0);
    /** @type {Map<number, number>} the sums that differ from the node's own contribution */
    const sums = new Map();
    /** @param {number} node @param {number} row @returns {number} */
    const key = (node, row) => (node * data.units + rows.unit[row]) * trees + rows.tree[row];
    for (let step = 1; step <= this.steps; step++) {
      const [begin, end] = this.span(step);
      const sent = new Uint16Array(end - begin);
      for (let row = begin; row < end; row++) {
        const sender = rows.sender[row];
        // The sum of a switch is empty until a contribution arrives.
        const isHeld = rows.combine[row]
          ? sender < this.network.endpointCount || sums.has(key(sender, row))
          : this.count(sender, rows.unit[row]) === complete;
        this.executed[row] = isHeld && step < downFrom[this.arcOf(row)] ? 1 : 0;
        sent[row - begin] = rows.combine[row] ? sums.get(key(sender, row)) ?? this.contribution(sender) : complete;
      }
      for (let row = begin; row < end; row++) {
        if (!this.executed[row]) continue;
        const [node, unit] = [rows.receiver[row], rows.unit[row]];
        const own = rows.combine[row] ? sums.get(key(node, row)) ?? this.contribution(node) : 0;
        const sum = own + sent[row - begin];
        if (this.reduces) sums.set(key(node, row), sum);
        this.gain[row] = Math.max(sum - this.count(node, unit), 0);
        if (this.gain[row]) arrived[node * data.units + unit] = sum - this.initial(node, unit);
      }
    }
  }

  /** @param {number} node @param {number} unit @returns {number} the contributions that the node holds from the start */
  initial(node, unit) {
    return this.reduces ? this.contribution(node) : Number(this.sources[unit] === node);
  }

  /** @param {number} node @returns {number} the node's contribution to each unit of a reduction: 0 or 1 */
  contribution(node) {
    return node < this.network.endpointCount ? this.alive[node] : 0;
  }

  /** @param {number} node @param {number} unit @returns {number} the contributions that the node holds after the rows that were executed so far */
  count(node, unit) {
    return this.initial(node, unit) + (this.arrived[node * this.data.units + unit] ?? 0);
  }

  /**
   * @param {number} step @param {number} unit the unit, or -1 for all
   * @returns {Int32Array} the contributions to the unit or units that each node holds after a step
   */
  heldAfter(step, unit) {
    const { rows } = this;
    const held = unit < 0 ? this.totals.slice() : Int32Array.from(this.alive, (_, node) => this.initial(node, unit));
    for (let row = 0; row < this.ends[step]; row++) {
      if (unit < 0 || rows.unit[row] === unit) held[rows.receiver[row]] += this.gain[row];
    }
    return held;
  }

  /**
   * @param {number} step @param {number} unit the unit, or -1 for all
   * @returns {{held: Int32Array, full: number}} the contributions that each node holds after a step, and the
   *   number of contributions that is shown in the full colour
   */
  progress(step, unit) {
    const ofAll = this.reduces ? this.complete * this.sources.length : this.mostHeld;
    return { held: this.heldAfter(step, unit), full: unit < 0 ? ofAll : this.complete };
  }

  /** @param {number} held @param {number} full @param {number} unit @returns {string} the progress of a node in words */
  describe(held, full, unit) {
    if (this.reduces) return held === full ? "complete" : `incomplete: ${held} of ${full} contributions`;
    return unit < 0 ? `holds ${held}` : held ? "holds it" : "lacks it";
  }

  /** @param {number} unit @returns {number} the destination of the unit, if it has one */
  destination(unit) {
    if (this.collective === "gather" || this.collective === "reduce") return this.data.root;
    return Math.floor(unit / this.multiplicity) % this.network.endpointCount;
  }

  /** @param {number} row @returns {number} */
  arcOf(row) {
    const { network, rows } = this;
    return rows.sender[row] * network.portCount + network.portIndex[rows.port[row]];
  }

  /** @returns {Float64Array} the first step in which each arc is down */
  findOutages() {
    const { network } = this;
    const down = new Float64Array(network.neighbours.length).fill(Infinity);
    for (const { node, link, step } of this.faults) {
      for (const arc of link >= 0 ? [network.linkArc[link]] : network.arcsFrom(node)) {
        for (const way of [arc, network.opposite(arc)]) down[way] = Math.min(down[way], step);
      }
    }
    return down;
  }

  /** @param {number} step @returns {[number, number]} the rows of a step, from and to */
  span(step) {
    return [this.ends[step - 1] ?? 0, this.ends[step]];
  }

  /** @param {number} node @param {number} step @returns {number[]} the complete units at a node, ascending */
  unitsAt(node, step) {
    const held = Int32Array.from(this.sources, (_, unit) => this.initial(node, unit));
    for (let row = 0; row < this.ends[step]; row++) {
      if (this.rows.receiver[row] === node) held[this.rows.unit[row]] += this.gain[row];
    }
    return [...held.keys()].filter((unit) => held[unit] === this.complete);
  }

  /**
   * The (node, unit) pairs that are missing in the end. Switches, and nodes that die, need not receive any units, and
   * the units that they would have sent need not be delivered.
   *
   * @returns {{missing: number, undelivered: [number, number][], perNode: Int32Array}}
   */
  findMissing() {
    const { network, alive } = this;
    const perNode = new Int32Array(network.nodeCount);
    /** @type {[number, number][]} */
    const pairs = [];
    const isOwed = (/** @type {number} */ unit) => !MANY_SENDERS.includes(this.collective) || alive[this.sources[unit]];
    const owed = [...this.sources.keys()].filter(isOwed);
    /** @param {number} node @param {number} unit */
    const check = (node, unit) => {
      if (!alive[node] || this.count(node, unit) === this.complete) return;
      perNode[node]++;
      if (!this.toAll || pairs.length < MOST_EXAMPLES) pairs.push([node, unit]);
    };
    if (this.toAll) perNode.subarray(0, network.endpointCount).forEach((_, node) => owed.forEach((unit) => check(node, unit)));
    else for (const unit of owed) check(this.destination(unit), unit);
    pairs.sort((left, right) => left[0] - right[0] || left[1] - right[1]);
    const missing = perNode.reduce((sum, each) => sum + each, 0);
    return { missing, undelivered: pairs.slice(0, MOST_EXAMPLES), perNode };
  }

  /** Figures of every step: arcs used, units by port, and the largest number of units that an arc has carried so far. */
  profile() {
    const { network, steps } = this;
    const linksUsed = new Int32Array(steps);
    const byPort = Array.from({ length: network.portCount }, () => new Int32Array(steps));
    const greatestLoad = new Int32Array(steps);
    const total = new Int32Array(network.neighbours.length);
    /** the last step in which each arc was busy */
    const lastStep = new Int32Array(network.neighbours.length);
    let greatest = 0;
    for (let step = 1; step <= steps; step++) {
      const [begin, end] = this.span(step);
      for (let row = begin; row < end; row++) {
        if (!this.executed[row]) continue;
        const arc = this.arcOf(row);
        if (lastStep[arc] !== step) linksUsed[step - 1]++;
        lastStep[arc] = step;
        greatest = Math.max(greatest, ++total[arc]);
        byPort[arc % network.portCount][step - 1]++;
      }
      greatestLoad[step - 1] = greatest;
    }
    return { linksUsed, byPort, greatestLoad };
  }
}
