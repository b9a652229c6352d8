/** The explorer: a page that shows a topology, a forest on it, and a schedule step by step. */

import { byId, countOf, update } from "../elements.js";
import { Camera } from "./camera.js";
import { CanvasView } from "./canvas-view.js";
import { drawCharts, moveCursors } from "./charts.js";
import { PACKET_AT_REST, fillSelect, fillTreeList, listen, stopPlaying } from "./controls.js";
import { loadText, missingText, pathsText, report, showContents, showFaults, showLegend, showSelection } from "./details.js";
import { Drawing } from "./drawing.js";
import { GlView, hasWebGl } from "./gl-view.js";
import { Forest, Network, findDisjointPaths } from "./network.js";
import { Replay, expandRows, splitRows, whyNotAllSources } from "./replay.js";
import { Scene, paintForest, paintPaths, paintPorts, paintStep } from "./scene.js";
import { Source, SourceError } from "./source.js";
import { emptyState, faultText, formatState, parseState } from "./state.js";
import { SvgView } from "./svg-view.js";

/** @import { Fault, Rows } from "./replay.js" */
/** @import { ScheduleData } from "./source.js" */

/** Up to this number of items, a drawing is rendered as SVG: S_5 has 120 nodes. */
const MOST_SVG_NODES = 200;
const MOST_UNITS_LISTED = 256;
const VIEWS = { svg: SvgView, webgl2: GlView, canvas: CanvasView };
/** The controls that have the names and the values of parts of the state. */
const CONTROLS = /** @type {const} */ (["layout", "forest", "schedule", "source", "unit", "step"]);

export class Explorer {
  /** @param {Source} source @param {Network} network */
  constructor(source, network) {
    this.source = source;
    this.network = network;
    this.stage = byId("stage");
    this.state = emptyState();
    this.drawing = /** @type {Drawing | null} */ (null);
    /** the root of the drawn layout, from which `levels` measures distances; 0 for other layouts */
    this.drawnRoot = 0;
    this.forest = /** @type {Forest | null} */ (null);
    this.schedule = /** @type {{data: ScheduleData, rows: Rows} | null} */ (null);
    /** the execution of the schedule's rows, of one source or of all @type {Replay | null} */
    this.replay = null;
    this.view = /** @type {SvgView | CanvasView | GlView | null} */ (null);
    this.scene = /** @type {Scene | null} */ (null);
    this.selectedLink = -1;
    /** the arcs of the disjoint paths from the node `from` of the state to the selected node @type {number[][] | null} */
    this.paths = null;
    /** the animation frame that was requested last, or 0 while nothing is played */
    this.playing = 0;
    /** the positions of packets on their links, from 0 to 1 */
    this.progress = PACKET_AT_REST;
    /** settled when the user's last action has finished @type {Promise<void>} */
    this.last = Promise.resolve();
    this.camera = new Camera(this);
  }

  /** @returns {string} the part of the address that holds the state */
  get address() {
    if (location.hash.length > 1) return location.hash.slice(1);
    return location.search.slice(1) || this.source.state;
  }

  async start() {
    listen(this);
    const { data, linkCount } = this.network;
    byId("title").textContent = `${data.spec}: ${countOf(data.nodes, "node")}, ${countOf(linkCount, "link")}, diameter ${data.diameter ?? "unknown"}`;
    document.title = `${data.spec} · starcast explorer`;
    fillSelect(byId("layout"), data.layouts.map(({ name }) => name));
    await Promise.all([this.fillChoices("forests", byId("forest")), this.fillChoices("schedules", byId("schedule"))]);
    const names = [...byId("schedule").options, ...byId("forest").options].map(({ value }) => value);
    byId("add-text").placeholder = names.find(Boolean) ?? "";
    byId("add").hidden = this.source.isComplete;
    // Without a server, no other topology can be opened.
    byId("open").hidden = this.source.isComplete;
    if (!this.source.isComplete) update(byId("open"), { action: "../explore" });
    await attempt(() => this.open(this.address));
  }

  /** @param {"forests" | "schedules"} kind @param {HTMLSelectElement} select */
  async fillChoices(kind, select) {
    const entries = (await attempt(() => this.source.list(kind, this.network.data.spec))) ?? [];
    const names = entries.map(({ name }) => name);
    fillSelect(select, ["none", ...names], ["", ...names]);
  }

  /** Perform an action after all earlier ones, so that a slow response cannot replace a later result. @param {() => unknown} action */
  inOrder(action) {
    this.last = this.last.then(async () => {
      byId("notices").replaceChildren();
      await attempt(action);
    });
  }

  /** Show the state that the text of an address describes, and report its invalid parts. @param {string} text */
  async open(text) {
    const { network } = this;
    stopPlaying(this);
    const { state, problems } = parseState(text, network);
    problems.forEach(report);
    this.state = state;
    const { view } = state;
    this.selectedLink = -1;
    await this.setForest(state.forest, state.trees);
    await this.setSchedule(state.schedule, state.source, state.step);
    await this.setLayout(state.layout || (state.root < 0 ? network.data.layouts[0].name : "levels"));
    this.buildScene();
    // The view is set last, because the player and the legend reduce the size of the picture.
    if (view && !this.camera.fromText(view)) report(`view is '${view}', which is not a centre and a scale`);
    this.refresh();
  }

  /** @returns {number} the node from which the layout `levels` measures distances */
  get levelsRoot() {
    return this.state.root < 0 ? (this.replay ?? this.forest)?.data.root ?? 0 : this.state.root;
  }

  /** Draw the layout `levels` again if its root has changed. */
  async followRoot() {
    if (this.state.layout === "levels" && this.drawnRoot !== this.levelsRoot) await this.setLayout("levels");
  }

  /** Draw the layout `levels` with a node as its root. @param {number} node */
  async showLevels(node) {
    this.state.root = node;
    await this.setLayout("levels");
    this.refresh();
  }

  /** @param {string} name @returns {Promise<void>} */
  async setLayout(name) {
    const { network, state } = this;
    const root = name === "levels" ? this.levelsRoot : 0;
    const label = root ? network.labels[root] : "";
    const load = async () => new Drawing(network, await this.source.layout(network.data.spec, name, label), name);
    const drawing = await attempt(load);
    if (!drawing && state.root < 0) return;
    if (!drawing) {
      state.root = -1;
      return this.setLayout(name);
    }
    this.drawing = drawing;
    this.drawnRoot = root;
    state.layout = name;
    const description = network.data.layouts.find((layout) => layout.name === name)?.description ?? "";
    byId("layout-text").textContent = root ? `levels: rows by the distance from ${label}` : description;
    const renderer = drawing.count <= MOST_SVG_NODES ? "svg" : hasWebGl() ? "webgl2" : "canvas";
    if (!(this.view instanceof VIEWS[renderer])) {
      document.body.dataset.renderer = renderer;
      this.view?.destroy();
      this.view = new VIEWS[renderer](this.stage);
      const label = `${network.data.spec}: move with the arrow keys; the selection is described below`;
      const canvas = this.stage.querySelector("canvas");
      if (canvas) update(canvas, { tabindex: 0, role: "img", "aria-label": label });
    }
    this.camera.fit();
  }

  /**
   * Load the forest or schedule that a name in the state denotes, and add the name to the list of choices; report an error.
   *
   * @template Loaded
   * @param {"forest" | "schedule"} kind @param {string} name or "" for none
   * @param {(id: string) => Promise<Loaded>} request
   * @returns {Promise<Loaded | null>}
   */
  async load(kind, name, request) {
    this.state[kind] = "";
    const loaded = name ? await attempt(() => request(`${this.network.data.spec}:${name}`)) : null;
    if (!loaded) return null;
    this.state[kind] = name;
    this.addChoice(byId(kind), name);
    return loaded;
  }

  /** @param {string} name @param {number[] | null} trees */
  async setForest(name, trees = null) {
    this.forest = null;
    this.forest = await this.load("forest", name, async (id) => {
      const { data, values } = await this.source.forest(id);
      return new Forest(this.network, data, values);
    });
    this.state.trees = null;
    if (trees && this.forest) {
      const { treeCount } = this.forest;
      const missing = trees.filter((tree) => tree >= treeCount);
      if (missing.length) report(`${name} has no tree ${missing.join(", ")}: trees are 0 to ${treeCount - 1}`);
      this.state.trees = trees.filter((tree) => tree < treeCount);
    }
    byId("trees").hidden = !this.forest;
    fillTreeList(this.forest?.treeCount ?? 0, this.visibleTrees);
    /** @type {HTMLInputElement} */ (document.querySelector(`input[name=links][value=${this.state.links}]`)).checked = true;
  }

  /** @param {HTMLSelectElement} select @param {string} name */
  addChoice(select, name) {
    if (![...select.options].some((option) => option.value === name)) select.add(new Option(name, name));
  }

  /** @returns {number[]} */
  get visibleTrees() {
    if (this.state.trees) return this.state.trees;
    return Array.from({ length: this.forest?.treeCount ?? 0 }, (_, tree) => tree);
  }

  /** @param {string} name @param {"one" | "all"} source @param {number} step */
  async setSchedule(name, source = "one", step = 0) {
    stopPlaying(this);
    this.schedule = null;
    this.replay = null;
    this.state.step = 0;
    this.schedule = await this.load("schedule", name, async (id) => {
      const { data, values } = await this.source.schedule(id);
      return { data, rows: splitRows(values, data.rows) };
    });
    if (this.schedule) this.setSource(source);
    const steps = this.schedule?.data.steps ?? 0;
    if (step > steps && this.schedule) report(`step ${step} is after the last: ${name} has ${countOf(steps, "step")}`);
    this.state.step = Math.min(step, steps);
    for (const id of ["player", "schedule-options", "chart-box"]) byId(id).hidden = !this.schedule;
    byId("step").max = String(steps);
  }

  /** @param {"one" | "all"} source */
  setSource(source) {
    const { network } = this;
    const schedule = /** @type {NonNullable<typeof this.schedule>} */ (this.schedule);
    const reason = whyNotAllSources(network, schedule.data);
    if (source === "all" && reason) report(`all sources cannot be shown: ${reason}`);
    this.state.source = source === "all" && !reason ? "all" : "one";
    byId("source").disabled = reason !== "";
    byId("source-text").textContent = schedule.data.symmetric
      ? reason || "The schedule is symmetric: translating the rows of one source gives the rows of all other sources."
      : "";
    const { data, rows } = this.state.source === "all" ? expandRows(network, schedule.data, schedule.rows) : schedule;
    const units = data.units;
    const listed = Array.from({ length: Math.min(units, MOST_UNITS_LISTED) }, (_, unit) => String(unit));
    const texts = [`all ${countOf(units, "unit")}`, ...listed.map((unit) => `unit ${unit}`)];
    fillSelect(byId("unit"), texts, ["-1", ...listed]);
    if (this.state.unit >= units) {
      report(`the schedule has no unit ${this.state.unit}: units are 0 to ${units - 1}`);
      this.state.unit = -1;
    }
    if (this.state.unit >= MOST_UNITS_LISTED) this.addChoice(byId("unit"), String(this.state.unit));
    this.setReplay(data, rows);
  }

  /** Execute rows under the faults of the state. @param {ScheduleData} data @param {Rows} rows */
  setReplay(data, rows) {
    this.replay = new Replay(this.network, data, rows, this.state.faults);
    drawCharts(byId("charts"), this.replay, (step) => this.goTo(step));
  }

  /** Show the state everywhere: picture, texts, charts, address. */
  refresh() {
    const { state } = this;
    if (!this.drawing) return;
    this.buildScene();
    this.draw();
    const steps = this.replay?.steps ?? 0;
    for (const name of CONTROLS) byId(name).value = state[name];
    byId("step").setAttribute("aria-valuetext", `step ${state.step} of ${steps}`);
    const links = this.replay?.figures.linksUsed[state.step - 1] ?? 0;
    byId("step-text").textContent = state.step ? `step ${state.step} of ${steps}: ${countOf(links, "link")} busy` : `before step 1 of ${steps}`;
    moveCursors(byId("charts"), state.step, steps);
    if (this.forest) byId("load-text").textContent = loadText(this.forest.load(this.visibleTrees));
    showContents(this);
    showSelection(this);
    showFaults(this);
    this.writeAddress();
  }

  /** Build the scene and its legend, and fit the picture into the remaining space. */
  buildScene() {
    const { network, state } = this;
    const { from, node } = state;
    this.paths = from < 0 || node < 0 || from === node ? null : findDisjointPaths(network, from, node);
    this.progress = PACKET_AT_REST;
    this.paint(state.step);
    showLegend(this.scene);
    if (this.camera.isFitted) this.camera.fit();
  }

  /** @param {number} step @param {number} [heldStep] the step after which holdings are shown */
  paint(step, heldStep = step) {
    const { drawing, forest, paths, replay, schedule, state } = this;
    if (!drawing) return;
    const dead = state.faults.filter((fault) => fault.step <= Math.max(step, 1));
    let root = (replay ?? forest)?.data.root ?? -1;
    if (schedule?.data.id.endsWith(":expanded")) root = -1; // all nodes are roots
    const scene = new Scene(drawing, {
      selected: state.node,
      selectedLink: this.selectedLink,
      root: paths ? state.from : root,
      deadNodes: new Set(dead.map((fault) => fault.node).filter((each) => each >= 0)),
      deadLinks: new Set(dead.map((fault) => fault.link).filter((each) => each >= 0)),
      lacking: replay?.result?.perNode ?? null,
    });
    if (paths) paintPaths(scene, paths);
    else if (replay) paintStep(scene, replay, step, state.unit, heldStep);
    else if (forest) paintForest(scene, forest, this.visibleTrees, state.links);
    else paintPorts(scene);
    this.scene = scene.finish(paths ? "first node" : replay ? "root or source" : "root");
  }

  draw() {
    if (this.scene && this.view) this.view.draw(this.scene, this.camera, this.progress);
  }

  onCamera() {
    if (!this.scene) return;
    cancelAnimationFrame(this.frame ?? 0);
    this.frame = requestAnimationFrame(() => this.draw());
    // Browsers limit the number of address changes, so the address is not changed while the picture is dragged.
    if (!this.camera.pointers.size) this.writeAddress();
  }

  writeAddress() {
    this.state.view = this.camera.isFitted ? "" : this.camera.toText();
    const isDefault = this.state.layout === this.network.data.layouts[0].name;
    const text = formatState({ ...this.state, layout: isDefault ? "" : this.state.layout }, this.network);
    const path = location.pathname;
    const address = this.source.isComplete ? `${path}#${text}` : `${path}${text && "?"}${text}`;
    if (new URL(address, location.href).href !== location.href) history.replaceState(null, "", address);
  }

  /** @param {string} text for screen readers */
  announce(text) {
    byId("live").textContent = text;
  }

  /** @param {number} x @param {number} y the position in the stage, in pixels */
  onClick(x, y) {
    const { camera, drawing, view } = this;
    if (!drawing) return;
    const box = view instanceof SvgView ? view.nodeSize(drawing, camera) : undefined;
    const { node, link } = drawing.pick(camera, x, y, box);
    if (node >= 0) this.select(drawing.isQuotient ? drawing.first[node] : node);
    else this.selectLink(link);
  }

  /** @param {number} drawn a drawn link, or -1 */
  selectLink(drawn) {
    const { drawing } = this;
    this.state.node = -1;
    this.selectedLink = drawn < 0 || !drawing || drawing.isQuotient ? -1 : drawing.drawnLink.indexOf(drawn);
    if (this.selectedLink >= 0) this.announce(`link ${this.network.linkText(this.selectedLink)}`);
    this.refresh();
  }

  /** @param {number} node @param {number} [port] that was crossed */
  select(node, port = 0) {
    const { network } = this;
    const hadFocus = this.stage.contains(document.activeElement);
    this.state.node = node;
    this.selectedLink = -1;
    this.refresh();
    const note = this.paths ? pathsText(this.paths) : this.scene?.note(this.scene.drawing.itemOf[node]);
    const way = port ? `port ${port} to ` : "";
    this.announce(`${way}${network.labels[node]}${note ? `, ${note}` : ""}`);
    const label = CSS.escape(network.labels[node]);
    if (hadFocus) this.stage.querySelector(`[data-node="${label}"]`)?.focus({ preventScroll: true });
  }

  /** Show the disjoint paths from the selected node to the next selection, or hide them. */
  togglePaths() {
    const { network, state } = this;
    if (state.from < 0 && state.node < 0) return;
    state.from = state.from < 0 ? state.node : -1;
    this.refresh();
    const label = network.labels[state.from];
    this.announce(label ? `disjoint paths from ${label}: select another node` : "no disjoint paths");
  }

  /** @param {number} step */
  goTo(step) {
    if (!this.replay) return;
    this.state.step = Math.min(Math.max(step, 0), this.replay.steps);
    this.refresh();
    this.announce(byId("step-text").textContent ?? "");
  }

  /** Make the selected node or link fail from the current step on, or repair it. */
  toggleFault() {
    const { node, faults, step } = this.state;
    const link = node >= 0 ? -1 : this.selectedLink;
    if (node < 0 && link < 0) return;
    const at = faults.findIndex((fault) => fault.node === node && fault.link === link);
    const changed = at < 0 ? [...faults, { node, link, step: Math.max(step, 1) }] : faults.filter((_, place) => place !== at);
    this.setFaults(changed);
  }

  /** @param {Fault[]} changed */
  setFaults(changed) {
    const { network, replay, state } = this;
    state.faults = changed;
    if (replay) this.setReplay(replay.data, replay.rows);
    this.refresh();
    const faults = changed.map((fault) => faultText(network, fault)).join(", ");
    const missing = this.replay?.result ? `, ${missingText(this.replay.result.missing)}` : "";
    this.announce(faults ? `faults: ${faults}${missing}` : "no faults");
  }
}

/**
 * @template Result
 * @param {() => Result | Promise<Result>} action
 * @returns {Promise<Result | null>} its result, or null after reporting its error
 */
async function attempt(action) {
  try {
    return await action();
  } catch (error) {
    report(problemText(error));
    return null;
  }
}

/** @param {unknown} error @returns {string} */
function problemText(error) {
  if (!(error instanceof SourceError)) console.error(error);
  const { message, hint } = /** @type {{message: string, hint?: string}} */ (error);
  return hint ? `${message} (${hint})` : message;
}

/** Open the topology of the page, or show only the reason why it cannot be opened. */
async function start() {
  const source = new Source();
  // Until the topology is loaded, submitting the form must not load the page again.
  byId("find").addEventListener("submit", (/** @type {SubmitEvent} */ event) => event.preventDefault());
  try {
    const { data, values } = await source.topology(source.spec);
    await new Explorer(source, new Network(data, values)).start();
  } catch (error) {
    report(problemText(error));
    byId("title").textContent = source.spec;
    for (const element of document.querySelectorAll("main > *, .bar form, .bar .group")) {
      /** @type {HTMLElement} */ (element).hidden = true;
    }
  }
  document.body.dataset.ready = "true";
}

start();
