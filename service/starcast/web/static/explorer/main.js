/** The explorer: a page that shows a topology, a forest on it, and a schedule step by step. */

import { Camera } from "./camera.js";
import { CanvasView } from "./canvas-view.js";
import { drawCharts, moveCursors } from "./charts.js";
import { byId, element, fillSelect, fillTreeList, listen } from "./controls.js";
import { findShownPaths } from "./disjoint-paths.js";
import { missingText, pathsText, showFaults, showSelection } from "./details.js";
import { ForestModel } from "./forest.js";
import { pick } from "./geometry.js";
import { GlView, hasWebGl } from "./gl-view.js";
import { fillLegend } from "./legend.js";
import { Drawing, Network } from "./network.js";
import { Player } from "./player.js";
import { Replay, Rows, expandRows, whyNotAllSources } from "./replay.js";
import { Scene, paintForest, paintPaths, paintStep } from "./scene.js";
import { SourceError, openSource } from "./source.js";
import { emptyState, faultText, formatState, parseState } from "./state.js";
import { SvgView } from "./svg-view.js";
import { readTheme } from "./theme.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./source.js").ScheduleData} ScheduleData */
/** @typedef {import("./source.js").Source} Source */

/** Up to this number of nodes, a topology is drawn as SVG: S_5 has 120. */
const MOST_SVG_NODES = 200;
const MOST_UNITS_LISTED = 256;

export class Explorer {
  /** @param {Source} source @param {Network} network */
  constructor(source, network) {
    this.source = source;
    this.network = network;
    this.stage = byId("stage");
    this.state = emptyState();
    /** @type {string[]} */
    this.problems = [];
    /** @type {Drawing | null} */
    this.drawing = null;
    /** @type {ForestModel | null} */
    this.forest = null;
    /** @type {{data: ScheduleData, rows: Rows} | null} */
    this.schedule = null;
    /** the schedule that is shown, with the rows of one source or of all @type {{data: ScheduleData, rows: Rows} | null} */
    this.shown = null;
    /** @type {Replay | null} */
    this.replay = null;
    /** the units that are missing after the last step, if there are faults @type {ReturnType<Replay["findMissing"]> | null} */
    this.result = null;
    /** the replay that the charts show @type {Replay | null} */
    this.charted = null;
    /** @type {SvgView | CanvasView | GlView | null} */
    this.view = null;
    /** @type {Scene | null} */
    this.scene = null;
    this.selectedLink = -1;
    /** the arcs of the disjoint paths that are shown @type {number[][] | null} */
    this.paths = null;
    this.player = new Player(this);
    this.ownAddress = "";
    /** settled when the user's last action has finished @type {Promise<void>} */
    this.last = Promise.resolve();
    this.camera = new Camera(this.stage, (isFinal) => this.onCamera(isFinal), (x, y) => this.onClick(x, y));
  }

  /** @returns {string} the part of the address that holds the state */
  get address() {
    if (location.hash.length > 1) return location.hash.slice(1);
    return location.search.slice(1) || this.source.state;
  }

  async start() {
    listen(this);
    const { data, linkCount } = this.network;
    byId("title").textContent = `${data.spec}: ${data.node_count.toLocaleString("en")} nodes, ${linkCount.toLocaleString("en")} links, diameter ${data.diameter}`;
    document.title = `${data.spec} · starcast explorer`;
    fillSelect(byId("layout"), data.layouts.map(({ name }) => [name, name]));
    await Promise.all([this.fillChoices("forests", byId("forest")), this.fillChoices("schedules", byId("schedule"))]);
    byId("add").hidden = this.source.isComplete;
    try {
      await this.open(this.address);
    } catch (error) {
      this.report(error);
    }
  }

  /** @param {"forests" | "schedules"} kind @param {HTMLSelectElement} select */
  async fillChoices(kind, select) {
    /** @type {[string, string][]} */
    let entries = [];
    try {
      entries = (await this.source.list(kind, this.network.data.spec)).map(({ name }) => [name, name]);
    } catch (error) {
      this.report(error);
    }
    fillSelect(select, [["", "none"], ...entries]);
  }

  /** @param {unknown} error */
  report(error) {
    this.problems.push(problemText(error));
    this.showProblems();
  }

  showProblems() {
    showNotices(this.problems);
  }

  /**
   * Perform a user's action after all earlier actions have finished, so that the slow response to an earlier
   * action cannot replace the result of a later one.
   *
   * @param {() => unknown} action
   */
  inOrder(action) {
    this.last = this.last.then(async () => {
      this.problems = [];
      this.showProblems();
      try {
        await action();
      } catch (error) {
        this.report(error);
      }
      this.showProblems();
    });
  }

  /** Show a state, as far as it is possible. @param {string} text */
  async open(text) {
    const { network } = this;
    this.player.stop();
    const { state, problems } = parseState(text, network);
    this.problems.push(...problems);
    this.state = state;
    const { view } = state;
    this.selectedLink = -1;
    await this.setLayout(state.layout || network.data.layouts[0].name);
    await this.setForest(state.forest, state.trees);
    await this.setSchedule(state.schedule, state.source, state.step);
    this.paths = findShownPaths(this);
    this.buildScene(this.state.step);
    this.showLegend();
    // The view is set last, because the player and the legend reduce the size of the picture.
    if (view && !this.camera.fromText(view)) {
      this.problems.push(`view is '${view}', which is not a centre and a scale`);
    }
    this.showProblems();
    this.refresh();
  }

  /** @param {string} name */
  async setLayout(name) {
    const { network } = this;
    try {
      const positions = await this.source.layout(network.data.spec, name);
      this.drawing = new Drawing(network, positions, name);
    } catch (error) {
      this.report(error);
      return;
    }
    this.state.layout = name;
    byId("layout").value = name;
    byId("layout-text").textContent = network.data.layouts.find((layout) => layout.name === name)?.description ?? "";
    this.chooseView(this.drawing.count);
    this.camera.fit(this.drawing.bounds());
  }

  /** @param {number} count of items */
  chooseView(count) {
    const kind = count <= MOST_SVG_NODES ? SvgView : hasWebGl() ? GlView : CanvasView;
    if (this.view instanceof kind) return;
    this.view?.destroy();
    this.view = new kind(this.stage);
    const canvas = this.stage.querySelector("canvas");
    canvas?.setAttribute("tabindex", "0");
    canvas?.setAttribute("role", "img");
    canvas?.setAttribute("aria-label", `${this.network.data.spec}: move with the arrow keys; the selection is described below`);
    document.body.dataset.renderer = kind === SvgView ? "svg" : kind === GlView ? "webgl2" : "canvas";
  }

  /**
   * Load what a name in the state stands for, and offer it in the list of choices; report an error.
   *
   * @template Loaded
   * @param {"forest" | "schedule"} kind @param {string} name or "" for none
   * @param {(id: string) => Promise<Loaded>} request
   * @returns {Promise<Loaded | null>}
   */
  async load(kind, name, request) {
    this.state[kind] = "";
    if (!name) return null;
    try {
      const loaded = await request(`${this.network.data.spec}:${name}`);
      this.state[kind] = name;
      this.addChoice(byId(kind), name);
      return loaded;
    } catch (error) {
      this.report(error);
      return null;
    }
  }

  /** @param {string} name @param {number[] | null} trees */
  async setForest(name, trees = null) {
    this.forest = null;
    this.forest = await this.load("forest", name, async (id) => {
      const { data, parentPorts } = await this.source.forest(id);
      return new ForestModel(this.network, data, parentPorts);
    });
    this.state.trees = null;
    if (trees && this.forest) {
      const { treeCount } = this.forest;
      const missing = trees.filter((tree) => tree >= treeCount);
      if (missing.length) this.problems.push(`${name} has no tree ${missing.join(", ")}: trees are 0 to ${treeCount - 1}`);
      this.state.trees = trees.filter((tree) => tree < treeCount);
    }
    byId("forest").value = this.state.forest;
    this.showTrees();
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

  showTrees() {
    byId("trees").hidden = !this.forest;
    fillTreeList(byId("tree-list"), this.forest?.treeCount ?? 0, this.visibleTrees, (trees) => {
      this.state.trees = trees;
      this.refresh();
    });
    for (const radio of document.querySelectorAll("input[name=links]")) {
      const input = /** @type {HTMLInputElement} */ (radio);
      input.checked = input.value === this.state.links;
    }
  }

  /** @param {string} name @param {"one" | "all"} source @param {number} step */
  async setSchedule(name, source = "one", step = 0) {
    this.player.stop();
    this.schedule = null;
    this.shown = null;
    this.replay = null;
    this.result = null;
    this.state.step = 0;
    this.schedule = await this.load("schedule", name, async (id) => {
      const { data, rows } = await this.source.schedule(id);
      return { data, rows: new Rows(rows, data.row_count) };
    });
    byId("schedule").value = this.state.schedule;
    if (this.schedule) this.setSource(source);
    const steps = this.schedule?.data.steps ?? 0;
    if (step > steps && this.schedule) this.problems.push(`step ${step} is after the last: ${name} has ${steps} steps`);
    this.state.step = Math.min(step, steps);
    for (const id of ["player", "schedule-options", "chart-box"]) byId(id).hidden = !this.schedule;
    byId("step").max = String(steps);
  }

  /** @param {"one" | "all"} source */
  setSource(source) {
    const { network } = this;
    const schedule = /** @type {NonNullable<typeof this.schedule>} */ (this.schedule);
    const reason = whyNotAllSources(network, schedule.data);
    if (source === "all" && reason) this.problems.push(`all sources cannot be shown: ${reason}`);
    this.state.source = source === "all" && !reason ? "all" : "one";
    const select = byId("source");
    select.value = this.state.source;
    select.disabled = reason !== "";
    byId("source-text").textContent = schedule.data.symmetric
      ? reason || "The schedule is symmetric: translations of one source's rows are those of all sources."
      : "";
    this.shown = this.state.source === "all" ? expandRows(network, schedule.data, schedule.rows) : schedule;
    const units = this.shown.data.unit_count;
    fillSelect(byId("unit"), [
      ["-1", `all ${units.toLocaleString("en")} units`],
      ...Array.from({ length: Math.min(units, MOST_UNITS_LISTED) }, (_, unit) => /** @type {[string, string]} */ ([String(unit), `unit ${unit}`])),
    ]);
    if (this.state.unit >= units) {
      this.problems.push(`the schedule has no unit ${this.state.unit}: units are 0 to ${units - 1}`);
      this.state.unit = -1;
    }
    if (this.state.unit >= MOST_UNITS_LISTED) this.addChoice(byId("unit"), String(this.state.unit));
    byId("unit").value = String(this.state.unit);
    this.execute();
  }

  execute() {
    if (!this.shown) return;
    this.replay = new Replay(this.network, this.shown.data, this.shown.rows, this.state.faults);
    this.result = this.state.faults.length ? this.replay.findMissing() : null;
  }

  /** Show the state everywhere: picture, texts, charts, address. */
  refresh() {
    const { state } = this;
    if (!this.drawing) return;
    this.paths = findShownPaths(this);
    this.buildScene(state.step);
    this.showLegend();
    this.draw();
    const steps = this.replay?.steps ?? 0;
    byId("step").value = String(state.step);
    byId("step").setAttribute("aria-valuetext", `step ${state.step} of ${steps}`);
    const links = this.replay?.profile().linksUsed[state.step - 1] ?? 0;
    byId("step-text").textContent = state.step ? `step ${state.step} of ${steps}: ${links} links busy` : `before step 1 of ${steps}`;
    if (this.replay && this.charted !== this.replay) {
      this.charted = this.replay;
      drawCharts(byId("charts"), this.replay, (step) => this.goTo(step));
    }
    moveCursors(byId("charts"), state.step, steps);
    if (this.forest) this.describeLoad();
    showSelection(byId("selection"), this);
    showFaults(byId("faults"), this);
    this.writeAddress();
  }

  /** Show the legend, and fit the picture into the remaining space. */
  showLegend() {
    fillLegend(byId("legend"), this);
    if (this.camera.isFitted && this.drawing) this.camera.fit(this.drawing.bounds());
  }

  describeLoad() {
    const forest = /** @type {ForestModel} */ (this.forest);
    /** @type {Map<number, number>} */
    const counts = new Map();
    for (const load of forest.load(this.visibleTrees)) counts.set(load, (counts.get(load) ?? 0) + 1);
    const parts = [...counts].sort(([left], [right]) => left - right).map(([load, links]) => `${load}: ${links.toLocaleString("en")}`);
    byId("load-text").textContent = `Directed links by load: ${parts.join(", ")}`;
  }

  /** @param {number} step @param {number} [heldStep] the step after which holdings are shown */
  buildScene(step, heldStep = step) {
    const { state } = this;
    const drawing = /** @type {Drawing} */ (this.drawing);
    const dead = state.faults.filter((fault) => fault.step <= Math.max(step, 1));
    const root = this.replay ? (state.source === "one" || !this.schedule?.data.symmetric ? this.schedule?.data.root : -1) : this.forest?.data.root;
    const expanded = this.schedule?.data.id.endsWith(":expanded");
    const marks = {
      selected: state.node,
      selectedLink: this.selectedLink,
      root: this.paths ? state.from : expanded ? -1 : (root ?? -1),
      deadNodes: new Set(dead.filter((fault) => fault.node >= 0).map((fault) => fault.node)),
      deadLinks: new Set(dead.filter((fault) => fault.link >= 0).map((fault) => fault.link)),
      lacking: this.result?.perNode ?? null,
    };
    const scene = new Scene(drawing, readTheme(document.body), marks);
    if (this.paths) paintPaths(scene, this.paths);
    else if (this.replay) paintStep(scene, this.replay, step, state.unit, heldStep);
    else if (this.forest) paintForest(scene, this.forest, this.visibleTrees, state.links);
    this.scene = scene.finish();
  }

  draw() {
    if (this.scene && this.view) this.view.draw(this.scene, this.camera, this.player.progress);
  }

  /** @param {boolean} isFinal */
  onCamera(isFinal) {
    if (!this.scene) return;
    cancelAnimationFrame(this.frame ?? 0);
    this.frame = requestAnimationFrame(() => this.draw());
    if (isFinal || this.camera.isFitted) this.writeAddress();
  }

  writeAddress() {
    this.state.view = this.camera.isFitted ? "" : this.camera.toText();
    const isDefault = this.state.layout === this.network.data.layouts[0].name;
    const text = formatState({ ...this.state, layout: isDefault ? "" : this.state.layout }, this.network);
    const path = location.pathname;
    const address = this.source.isComplete ? `${path}#${text}` : `${path}${text && "?"}${text}`;
    if (address === this.ownAddress) return;
    this.ownAddress = address;
    history.replaceState(null, "", address);
  }

  /** @param {string} text for screen readers */
  announce(text) {
    byId("live").textContent = text;
  }

  /** @param {number} x @param {number} y */
  onClick(x, y) {
    const drawing = /** @type {Drawing} */ (this.drawing);
    if (!drawing) return;
    const { node, link } = pick(drawing, this.camera, x, y);
    if (node >= 0) this.select(drawing.isQuotient ? drawing.first[node] : node);
    else this.selectLink(link);
  }

  /** @param {number} drawn a drawn link, or -1 */
  selectLink(drawn) {
    const drawing = /** @type {Drawing} */ (this.drawing);
    this.state.node = -1;
    this.selectedLink = drawn < 0 || drawing.isQuotient ? -1 : drawing.drawnLink.indexOf(drawn);
    if (this.selectedLink >= 0) this.announce(`link ${this.network.linkText(this.selectedLink)}`);
    this.refresh();
  }

  /** @param {number} node @param {number} [port] that was crossed */
  select(node, port = 0) {
    const { network } = this;
    const drawing = /** @type {Drawing} */ (this.drawing);
    const hadFocus = this.stage.contains(document.activeElement);
    this.state.node = node;
    this.selectedLink = -1;
    this.refresh();
    const note = this.paths ? pathsText(this.paths) : this.scene?.note(drawing.itemOf[node]);
    const way = port ? `port ${port} to ` : "";
    this.announce(`${way}${network.labels[node]}${note ? `, ${note}` : ""}`);
    if (hadFocus) this.view?.focus(network.labels[node]);
  }

  /** @param {number} step */
  goTo(step) {
    if (!this.replay) return;
    this.state.step = Math.min(Math.max(step, 0), this.replay.steps);
    this.player.rest();
    this.refresh();
    this.announce(byId("step-text").textContent ?? "");
  }

  /** Make the selected node or link fail from the current step on, or repair it. */
  toggleFault() {
    const { node, faults, step } = this.state;
    const link = this.selectedLink;
    if (node < 0 && link < 0) return;
    const at = faults.findIndex((fault) => (node >= 0 ? fault.node === node : fault.link === link));
    if (at >= 0) this.removeFault(at);
    else {
      faults.push({ node, link: node >= 0 ? -1 : link, step: Math.max(step, 1) });
      this.afterFaults();
    }
  }

  /** @param {number} at */
  removeFault(at) {
    this.state.faults.splice(at, 1);
    this.afterFaults();
  }

  afterFaults() {
    this.execute();
    this.refresh();
    const { network } = this;
    const faults = this.state.faults.map((fault) => faultText(network, fault)).join(", ");
    const missing = this.result ? `, ${missingText(this.result.missing)}` : "";
    this.announce(faults ? `faults: ${faults}${missing}` : "no faults");
  }

  /** @param {number} factor */
  zoom(factor) {
    this.camera.zoom(factor);
    this.writeAddress();
  }

  /** @param {number} across @param {number} down how far the picture moves, in quarters of the window */
  pan(across, down) {
    this.camera.move((across * this.stage.clientWidth) / 4, (down * this.stage.clientHeight) / 4);
    this.writeAddress();
  }
}

/** @param {unknown} error @returns {string} */
function problemText(error) {
  if (!(error instanceof SourceError)) console.error(error);
  const { message, hint } = /** @type {{message: string, hint?: string}} */ (error);
  return hint ? `${message} (${hint})` : message;
}

/** @param {string[]} problems */
function showNotices(problems) {
  byId("notices").replaceChildren(...problems.map((problem) => element("p", problem)));
}

/** Open the topology of the page, or show only the sentence that says why it cannot be shown. */
async function start() {
  const source = openSource();
  // Until the topology is loaded, submitting the form must not load the page again.
  byId("find").addEventListener("submit", (/** @type {SubmitEvent} */ event) => event.preventDefault());
  try {
    const { data, neighbors } = await source.topology(source.spec);
    await new Explorer(source, new Network(data, neighbors)).start();
  } catch (error) {
    showNotices([problemText(error)]);
    byId("title").textContent = source.spec;
    for (const element of document.querySelectorAll("main > *, .bar form, .bar .group")) {
      /** @type {HTMLElement} */ (element).hidden = true;
    }
  }
  document.body.dataset.ready = "true";
}

start();
