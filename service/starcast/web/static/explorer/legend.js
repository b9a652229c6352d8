/** The legend below the picture: the meaning of colours, widths and outlines. */

import { element } from "./controls.js";
import { mostHeld } from "./scene.js";
import { css, mix } from "./theme.js";

/** @typedef {import("./main.js").Explorer} Explorer */
/** @typedef {import("./theme.js").Colour} Colour */
/** @typedef {[sample: Record<string, string>, text: string]} Meaning */

/** @param {HTMLElement} host @param {Explorer} explorer */
export function fillLegend(host, explorer) {
  const entries = meanings(explorer).map(([sample, text]) => {
    const [entry, swatch] = [element("span"), element("span", "", "swatch")];
    Object.assign(swatch.style, sample);
    entry.append(swatch, text);
    return entry;
  });
  host.replaceChildren(...entries);
}

/** @param {Explorer} explorer @returns {Meaning[]} */
function meanings({ drawing, forest, network, paths, replay, scene, state, visibleTrees }) {
  if (!drawing || !scene) return [];
  const { theme, marks } = scene;
  /** @param {Colour} colour @param {number} width @param {string} text @returns {Meaning} */
  const line = (colour, width, text) => [{ background: css(colour), height: `${width}px` }, text];
  /** @param {string} fill @param {Colour} outline @param {string} text @returns {Meaning} */
  const node = (fill, outline, text) => [{ background: fill, outline: `2px solid ${css(outline)}`, height: "9px" }, text];
  /** @param {number[]} trees @returns {Meaning[]} */
  const byTree = (trees) => trees.map((tree) => line(theme.trees[tree % 8], 3, `tree ${tree}`));
  const entries = [];
  if (paths) entries.push(...paths.map((path, at) => line(theme.trees[at % 8], 5, `path of ${path.length} hops`)));
  else if (replay) {
    const all = state.unit < 0;
    const fill = `linear-gradient(90deg, ${css(theme.paper)}, ${css(theme.accent)})`;
    const holds = all ? `holds 0 to ${replay.reduces ? 0 : mostHeld(replay)} units` : `holds unit ${state.unit}`;
    const meaning = replay.reduces ? `has 0 to ${replay.contributionsAfter(state.unit, 0).complete} contributions` : holds;
    entries.push(node(all || replay.reduces ? fill : css(theme.accent), theme.muted, meaning));
    entries.push(line(theme.ink, 2, "busy link: 1 unit"), line(theme.ink, 5, "8 units or more"));
    const trees = [...new Set(replay.rows.tree)];
    if (trees.length > 1) entries.push(...byTree(trees.sort((left, right) => left - right)));
  } else if (forest && scene.mostLoad) {
    const least = 1 / scene.mostLoad;
    entries.push(line(mix(theme.faint, theme.accent, least), 0.8 + 4 * least, "in 1 tree"));
    if (least < 1) entries.push(line(theme.accent, 4.8, `in ${scene.mostLoad} trees`));
  } else if (forest) entries.push(...byTree(visibleTrees));
  else if (drawing.isQuotient) entries.push(line(theme.faint, 3, "links between substars, wider: more"));
  else {
    const noun = network.data.family === "nk-star" ? "port" : "dimension";
    entries.push(...network.data.ports.map((port, index) => line(theme.trees[index % 8], 3, `${noun} ${port}`)));
  }
  if (marks.root >= 0) entries.push(node(css(theme.accent), theme.ink, paths ? "first node" : replay ? "root or source" : "root"));
  if (marks.lacking?.some(Boolean)) entries.push(node(css(theme.paper), theme.trees[1], "goes without a unit in the end"));
  if (marks.deadNodes.size) entries.push(node(css(theme.line), theme.muted, "crossed out: failed node"));
  if (marks.deadLinks.size) entries.push(line(mix(theme.paper, theme.muted, 0.75), 6, "failed link"));
  return entries;
}
