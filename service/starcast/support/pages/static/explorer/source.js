/** The data of the explorer, from the HTTP API of `starcast serve` or from the JSON in a page of `starcast explore`. */

/**
 * @typedef {Int32Array | Uint8Array | Int16Array | Float32Array} Numbers
 * @typedef {{name: string, description: string, periods: number[][]}} LayoutEntry
 * @typedef {{spec: string, family: string, n: number, k: number | null, nodes: number, endpoints: number,
 *   degree: number, ports: number[], port_names: string[], reverse_ports: number[], diameter: number,
 *   translation_keeps_ports: boolean, layouts: LayoutEntry[], labels: string[],
 *   link_capacities: number[] | null, link_latencies: number[] | null}} TopologyData
 * @typedef {{id: string, name: string, root: number, trees: number}} ForestData
 * @typedef {{id: string, name: string, collective: string, algorithm: string, ports: string,
 *   root: number, units: number, steps: number, rows: number, symmetric: boolean}} ScheduleData
 * @typedef {{id: string, name: string}} Entry
 */

/** A request that failed, with the server's hint if there is one. */
export class SourceError extends Error {
  hint = "";
}

/** @param {string} message @param {string} [hint] @returns {SourceError} */
const failure = (message, hint = "") => Object.assign(new SourceError(message), { hint });

/** The array type of each dtype, as the API and pages name it. @type {Record<string, new (buffer: ArrayBuffer) => Numbers>} */
const NUMBER_TYPES = {
  int32: Int32Array, uint8: Uint8Array, int16: Int16Array, float32: Float32Array,
  "<i4": Int32Array, "|u1": Uint8Array, "<i2": Int16Array, "<f4": Float32Array,
};

/** @param {string} dtype @param {ArrayBuffer} buffer @returns {Numbers} */
function toArray(dtype, buffer) {
  const type = NUMBER_TYPES[dtype];
  if (!type) throw failure(`the server sent an array of ${dtype}`);
  return new type(buffer);
}

/** @param {string} path @returns {Promise<Response>} the response of the API, whose URL is relative, so that the service can be below any path */
async function request(path) {
  let response;
  try {
    response = await fetch(`../api/v1/${path}`);
  } catch {
    throw failure("the server does not answer", "start the server again: starcast serve");
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  throw failure(problem.detail ?? problem.title ?? `${response.status}`, problem.hint);
}

/** @param {{dtype: string, data: string}} stored @returns {Promise<Numbers>} */
async function unpack(stored) {
  const bytes = Uint8Array.from(atob(stored.data), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return toArray(stored.dtype, await new Response(stream).arrayBuffer());
}

/** The data of a self-contained page, or of the server's API. */
export class Source {
  constructor() {
    const stored = document.getElementById("starcast-data");
    /** the JSON data in a self-contained page, or null @type {any} */
    this.stored = stored && JSON.parse(stored.textContent ?? "");
    this.isComplete = stored !== null;
    /** the state in which a self-contained page opens @type {string} */
    this.state = this.stored?.state ?? "";
  }

  /** @returns {string} the spec of the page's topology */
  get spec() {
    if (this.stored) return this.stored.spec;
    const name = location.pathname.split("/").filter(Boolean).pop() ?? "";
    try {
      return decodeURIComponent(name);
    } catch {
      return name; // a stray percent sign: the server will report the name as unknown
    }
  }

  /** @param {string} kind @param {string} id @returns {Promise<any>} */
  async describe(kind, id) {
    if (!this.stored) return (await request(`${kind}/${encodeURIComponent(id)}`)).json();
    const entries = this.stored[kind];
    if (id in entries) return entries[id];
    const name = id.replace(/^[^:]*:/, "");
    const named = Object.values(entries).find((/** @type {any} */ entry) => entry.name === name);
    if (named) return named;
    const names = Object.values(entries).map((/** @type {any} */ entry) => entry.name ?? entry.spec);
    const hint = names.length ? `it holds ${names.join(", ")}` : "it holds none";
    throw failure(`this page does not hold ${id}`, hint);
  }

  /**
   * @param {string} kind @param {string} id @param {string} path of the array in the API, relative to the URL of the topology, forest or schedule
   * @param {(entry: any) => any} [pick] returns the array in the data of a self-contained page
   * @returns {Promise<any>} the values
   */
  async array(kind, id, path, pick = (entry) => entry[path.replace("-", "_")]) {
    if (this.stored) return unpack(pick(await this.describe(kind, id)));
    const response = await request(`${kind}/${encodeURIComponent(id)}/${path}`);
    return toArray(response.headers.get("X-Array-Dtype") ?? "", await response.arrayBuffer());
  }

  /** @param {string} kind @param {string} id @param {string} path @param {((entry: any) => any) | undefined} [pick] see `array` */
  async withArray(kind, id, path, pick = undefined) {
    const [data, values] = await Promise.all([this.describe(kind, id), this.array(kind, id, path, pick)]);
    return { data, values };
  }

  /** @param {string} spec @returns {Promise<{data: TopologyData, values: Int32Array}>} the values are neighbours */
  async topology(spec) {
    const [topology, labels] = await Promise.all([this.withArray("topologies", spec, "neighbours"), this.labels(spec)]);
    return { ...topology, data: { ...topology.data, labels } };
  }

  /** @param {string} spec @returns {Promise<string[]>} the labels of the nodes, by rank */
  async labels(spec) {
    if (this.stored) return new TextDecoder().decode(await this.array("topologies", spec, "labels")).split(" ");
    return (await (await request(`topologies/${encodeURIComponent(spec)}/labels`)).json()).labels;
  }

  /** @param {string} spec @param {string} name @param {string} root of the layout `levels`, or "" @returns {Promise<Float32Array>} */
  layout(spec, name, root) {
    const path = `layout/${encodeURIComponent(name)}${root && `?root=${encodeURIComponent(root)}`}`;
    return this.array("topologies", spec, path, ({ positions }) => {
      const held = positions[root ? `${name}:${root}` : name];
      if (!held) throw failure(`this page does not hold the levels from ${root}`, "it holds those from the roots of its forests and schedules");
      return held;
    });
  }

  /** @param {string} id @returns {Promise<{data: ForestData, values: Uint8Array}>} the values are parent ports */
  forest(id) {
    return this.withArray("forests", id, "parent-ports");
  }

  /** @param {string} id @returns {Promise<{data: ScheduleData, values: Int32Array}>} the values are rows */
  schedule(id) {
    return this.withArray("schedules", id, "rows", (entry) => entry.columns);
  }

  /** @param {"forests" | "schedules"} kind @param {string} spec @returns {Promise<Entry[]>} */
  async list(kind, spec) {
    if (this.stored) return Object.values(this.stored[kind]);
    return (await (await request(`topologies/${encodeURIComponent(spec)}/${kind}`)).json()).items;
  }
}
