/**
 * The sources of the explorer's data: the HTTP API of `starcast serve`, or the JSON in a page of
 * `starcast explore`. Other modules need not know which source is used.
 */

/**
 * @typedef {Int32Array | Uint8Array | Int16Array | Float32Array} Numbers
 * @typedef {{dtype: string, shape: number[], values: Numbers}} NumberArray
 * @typedef {{name: string, description: string}} LayoutEntry
 * @typedef {{spec: string, family: string, n: number, k: number | null, node_count: number,
 *   port_count: number, ports: number[], reverse_ports: number[], diameter: number,
 *   translation_keeps_ports: boolean, layouts: LayoutEntry[], labels?: string[]}} TopologyData
 * @typedef {{id: string, name: string, root: number, tree_count: number}} ForestData
 * @typedef {{id: string, name: string, collective: string, algorithm: string, ports: string,
 *   root: number, unit_count: number, steps: number, row_count: number, symmetric: boolean,
 *   forest_id: string | null}} ScheduleData
 * @typedef {{id: string, name: string}} Entry
 */

/** A request that failed, with the server's hint if there is one. */
export class SourceError extends Error {
  /** @param {string} message @param {string} [hint] */
  constructor(message, hint = "") {
    super(message);
    this.hint = hint;
  }
}

/** Families whose labels follow from the ranks; see `computeLabels`. */
const LABELLED_FAMILIES = ["star", "nk-star", "hypercube"];

/** @type {Record<string, {new (buffer: ArrayBuffer): Numbers}>} */
const NUMBER_TYPES = {
  int32: Int32Array,
  uint8: Uint8Array,
  int16: Int16Array,
  float32: Float32Array,
};

/** @param {string} dtype @param {number[]} shape @param {ArrayBuffer} buffer @returns {NumberArray} */
function toArray(dtype, shape, buffer) {
  const name = { "<i4": "int32", "|u1": "uint8", "<i2": "int16", "<f4": "float32" }[dtype] ?? dtype;
  const type = NUMBER_TYPES[name];
  if (!type) throw new SourceError(`the server sent an array of ${dtype}`);
  return { dtype: name, shape, values: new type(buffer) };
}

/** Data from the HTTP API. URLs are relative, so that the service can be below any path. */
export class HttpSource {
  /** @param {string} [base] the address of the API, relative to the page */
  constructor(base = "../api/v1/") {
    this.base = base;
    this.isComplete = false;
  }

  /** @param {string} path @returns {Promise<Response>} */
  async request(path) {
    let response;
    try {
      response = await fetch(this.base + path);
    } catch {
      throw new SourceError("the server does not answer", "start it again: starcast serve");
    }
    if (response.ok) return response;
    const problem = await response.json().catch(() => ({}));
    throw new SourceError(problem.detail ?? problem.title ?? `${response.status}`, problem.hint);
  }

  /** @param {string} path @returns {Promise<any>} */
  async json(path) {
    return (await this.request(path)).json();
  }

  /** @param {string} path @returns {Promise<NumberArray>} */
  async array(path) {
    const response = await this.request(path);
    const shape = (response.headers.get("X-Array-Shape") ?? "").split(/[^0-9]+/).filter(Boolean);
    const dtype = response.headers.get("X-Array-Dtype") ?? "";
    return toArray(dtype, shape.map(Number), await response.arrayBuffer());
  }

  /** @param {string} spec @returns {Promise<{data: TopologyData, neighbors: Int32Array}>} */
  async topology(spec) {
    const path = `topologies/${encodeURIComponent(spec)}`;
    const [data, neighbors] = await Promise.all([this.json(path), this.array(`${path}/neighbors`)]);
    if (!LABELLED_FAMILIES.includes(data.family)) {
      data.labels = (await this.json(`${path}/labels`)).labels;
    }
    return { data, neighbors: /** @type {Int32Array} */ (neighbors.values) };
  }

  /** @param {string} spec @param {string} name @returns {Promise<Float32Array>} */
  async layout(spec, name) {
    const path = `topologies/${encodeURIComponent(spec)}/layout/${encodeURIComponent(name)}`;
    return /** @type {Float32Array} */ ((await this.array(path)).values);
  }

  /** @param {string} id @returns {Promise<{data: ForestData, parentPorts: Uint8Array}>} */
  async forest(id) {
    const path = `forests/${encodeURIComponent(id)}`;
    const [data, ports] = await Promise.all([this.json(path), this.array(`${path}/parent-ports`)]);
    return { data, parentPorts: /** @type {Uint8Array} */ (ports.values) };
  }

  /** @param {string} id @returns {Promise<{data: ScheduleData, rows: Int32Array}>} */
  async schedule(id) {
    const path = `schedules/${encodeURIComponent(id)}`;
    const [data, rows] = await Promise.all([this.json(path), this.array(`${path}/rows`)]);
    return { data, rows: /** @type {Int32Array} */ (rows.values) };
  }

  /** @param {"forests" | "schedules"} kind @param {string} spec @returns {Promise<Entry[]>} */
  async list(kind, spec) {
    const data = await this.json(`topologies/${encodeURIComponent(spec)}/${kind}`);
    return data.items;
  }
}

/** @param {{dtype: string, shape: number[], data: string}} stored @returns {Promise<NumberArray>} */
async function unpack(stored) {
  const bytes = Uint8Array.from(atob(stored.data), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return toArray(stored.dtype, stored.shape, await new Response(stream).arrayBuffer());
}

/** Data that a self-contained page holds as JSON. */
export class EmbeddedSource {
  /** @param {any} stored the JSON data in the page */
  constructor(stored) {
    this.stored = stored;
    this.isComplete = true;
  }

  /** @param {string} kind @param {string} id @returns {any} */
  entry(kind, id) {
    const entries = this.stored[kind];
    if (id in entries) return entries[id];
    const name = id.replace(/^[^:]*:/, "");
    const named = Object.values(entries).find((/** @type {any} */ entry) => entry.name === name);
    if (named) return named;
    const names = Object.values(entries).map((/** @type {any} */ entry) => entry.name ?? entry.spec);
    const hint = names.length ? `it holds ${names.join(", ")}` : "it holds none";
    throw new SourceError(`this page does not hold ${id}`, hint);
  }

  /** @param {string} spec @returns {Promise<{data: TopologyData, neighbors: Int32Array}>} */
  async topology(spec) {
    const data = this.entry("topologies", spec);
    const neighbors = await unpack(data.neighbors);
    return { data, neighbors: /** @type {Int32Array} */ (neighbors.values) };
  }

  /** @param {string} spec @param {string} name @returns {Promise<Float32Array>} */
  async layout(spec, name) {
    const stored = this.entry("topologies", spec).positions[name];
    return /** @type {Float32Array} */ ((await unpack(stored)).values);
  }

  /** @param {string} id @returns {Promise<{data: ForestData, parentPorts: Uint8Array}>} */
  async forest(id) {
    const data = this.entry("forests", id);
    const ports = await unpack(data.parent_ports);
    return { data, parentPorts: /** @type {Uint8Array} */ (ports.values) };
  }

  /** @param {string} id @returns {Promise<{data: ScheduleData, rows: Int32Array}>} */
  async schedule(id) {
    const data = this.entry("schedules", id);
    const rows = await unpack(data.rows);
    return { data, rows: /** @type {Int32Array} */ (rows.values) };
  }

  /** @param {"forests" | "schedules"} kind @returns {Promise<Entry[]>} */
  async list(kind) {
    return Object.values(this.stored[kind]);
  }
}

/** @returns {HttpSource | EmbeddedSource} */
export function openSource() {
  const stored = document.getElementById("starcast-data");
  return stored ? new EmbeddedSource(JSON.parse(stored.textContent ?? "")) : new HttpSource();
}
