/**
 * The execution of a schedule's rows under faults, step by step, as `starcast.simulate` executes
 * them: a row whose link is down or whose sender does not hold the unit is dropped.
 */

/** @typedef {import("./network.js").Network} Network */
/** @typedef {import("./source.js").ScheduleData} ScheduleData */
/** @typedef {{node: number, link: number, step: number}} Fault node or link is -1 */

/** The largest number of rows to which a symmetric schedule is expanded. */
const MOST_ROWS = 4_000_000;
const MOST_BITS = 2 ** 28;
/** The number of missing units that are listed. */
const MOST_EXAMPLES = 10;
const MANY_SENDERS = ["allgather", "gather", "alltoall"];
/** Collectives in which every node contributes to every unit; they have the column combine. */
const REDUCTIONS = ["reduce", "reduce-scatter", "allreduce"];

/** The rows of a schedule in the order of time, stored as columns. */
export class Rows {
  /**
   * @param {Int32Array} values `[columns, rows]`: step, sender, port, receiver, tree, unit and, in
   *   reductions, combine
   * @param {number} count the number of rows
   */
  constructor(values, count) {
    this.count = count;
    this.step = values.subarray(0, count);
    this.sender = values.subarray(count, 2 * count);
    this.port = values.subarray(2 * count, 3 * count);
    this.receiver = values.subarray(3 * count, 4 * count);
    this.tree = values.subarray(4 * count, 5 * count);
    this.unit = values.subarray(5 * count, 6 * count);
    this.combine = values.subarray(6 * count, 7 * count);
  }
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
  if (!network.data.translation_keeps_ports) {
    return `translations of ${network.data.spec} change ports`;
  }
  const rows = data.row_count * network.nodeCount;
  if (rows > MOST_ROWS) {
    return `${rows.toLocaleString("en")} rows are too many; a page shows ${MOST_ROWS.toLocaleString("en")}`;
  }
  return "";
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
  const arcsTo = spanningArcs(network, data.root);
  const total = rows.count * nodes;
  const values = new Int32Array((rows.combine.length ? 7 : 6) * total);
  const out = new Rows(values, total);
  const image = new Int32Array(nodes);
  const multiplicity = data.unit_count / nodes;
  let at = 0;
  const images = [];
  for (let source = 0; source < nodes; source++) {
    image[data.root] = source;
    for (const arc of arcsTo) {
      const port = arc % network.portCount;
      image[network.neighbors[arc]] = network.neighbors[image[network.sender(arc)] * network.portCount + port];
    }
    images.push(image.slice());
  }
  // The inner loop is over the sources, so that the expanded rows stay in the order of time.
  for (let row = 0; row < rows.count; row++) {
    for (let source = 0; source < nodes; source++) {
      const map = images[source];
      out.step[at] = rows.step[row];
      out.sender[at] = map[rows.sender[row]];
      out.port[at] = rows.port[row];
      out.receiver[at] = map[rows.receiver[row]];
      out.tree[at] = rows.tree[row];
      if (rows.combine.length) out.combine[at] = rows.combine[row];
      const unit = rows.unit[row];
      if (data.collective === "alltoall") {
        const destination = map[Math.floor(unit / multiplicity)];
        out.unit[at] = (source * nodes + destination) * multiplicity + (unit % multiplicity);
      } else {
        out.unit[at] = source * data.unit_count + unit;
      }
      at++;
    }
  }
  const expanded = { ...data, symmetric: false, unit_count: data.unit_count * nodes, row_count: total };
  return { data: expanded, rows: out };
}

/** @param {Network} network @param {number} root @returns {number[]} arcs of a tree, by level */
function spanningArcs(network, root) {
  const seen = new Uint8Array(network.nodeCount);
  seen[root] = 1;
  const arcs = [];
  const queue = [root];
  for (const node of queue) {
    for (let port = 0; port < network.portCount; port++) {
      const other = network.neighbors[node * network.portCount + port];
      if (seen[other]) continue;
      seen[other] = 1;
      arcs.push(node * network.portCount + port);
      queue.push(other);
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
    /** @type {number | undefined} */
    this.mostHeld = undefined;
    // In a symmetric schedule, the rows of one source are executed as a broadcast, scatter or reduce.
    this.collective = data.collective;
    /** @type {Record<string, string>} */
    const ofOneSource = { allgather: "broadcast", alltoall: "scatter", "reduce-scatter": "reduce" };
    if (data.symmetric) this.collective = ofOneSource[data.collective] ?? data.collective;
    this.toAll = ["broadcast", "allgather", "allreduce"].includes(this.collective);
    this.reduces = REDUCTIONS.includes(this.collective);
    /** @type {Record<string, number>} */
    const powers = { allgather: 1, scatter: 1, gather: 1, alltoall: 2, "reduce-scatter": 1 };
    const power = powers[this.collective] ?? 0;
    this.multiplicity = Math.max(Math.floor(data.unit_count / network.nodeCount ** power), 1);
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
   * @param {number} unit the unit, or -1 for all @param {number} step
   * @returns {{held: Int32Array, complete: number}} the contributions that each node holds after a
   *   step, and the number of contributions that make a unit complete
   */
  contributionsAfter(unit, step) {
    const all = this.executeSums(step);
    const units = this.data.unit_count;
    const held = Int32Array.from({ length: this.network.nodeCount }, (_, node) => {
      const own = all.subarray(node * units, (node + 1) * units);
      return unit < 0 ? own.reduce((sum, each) => sum + each, 0) : own[unit];
    });
    return { held, complete: this.contributors * (unit < 0 ? units : 1) };
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
    /** @param {number} arc @param {number} step */
    const lower = (arc, step) => {
      down[arc] = Math.min(down[arc], step);
      const back = network.opposite(arc);
      down[back] = Math.min(down[back], step);
    };
    for (const fault of this.faults) {
      if (fault.link >= 0) lower(network.linkArc[fault.link], fault.step);
      for (let port = 0; fault.node >= 0 && port < network.portCount; port++) {
        lower(fault.node * network.portCount + port, fault.step);
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
    const owed = [];
    for (let unit = 0; unit < data.unit_count; unit++) {
      if (!MANY_SENDERS.includes(this.collective) || alive[this.source(unit)]) owed.push(unit);
    }
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
    if (this.figures) return this.figures;
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
    this.figures = { linksUsed, byPort, greatestLoad };
    return this.figures;
  }
}
