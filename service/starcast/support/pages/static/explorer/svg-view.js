/** The renderer of small topologies: SVG, with a named element for each node. */

import { svgElement, update } from "../elements.js";
import { placePacket } from "./drawing.js";
import { LACKING, css, mix, readableOn } from "./scene.js";

/** @import { Camera } from "./camera.js" */
/** @import { Drawing } from "./drawing.js" */
/** @import { Scene } from "./scene.js" */

const CHARACTER = 6.7; // the width of a character of 11 pixels
/** The height of the box around a label, and the smallest distance between two boxes. */
const [BOX_HEIGHT, GAP] = [17, 2];

export class SvgView {
  /** @param {HTMLElement} host */
  constructor(host) {
    this.base = svgElement("g", { "aria-hidden": "true" });
    this.strokes = svgElement("g", { "aria-hidden": "true", fill: "none" });
    this.nodes = svgElement("g");
    this.packets = svgElement("g", { "aria-hidden": "true" });
    const roles = { role: "group", "aria-roledescription": "network", class: "view" };
    const font = { "font-size": 11, "font-family": "'DejaVu Sans Mono', Menlo, Consolas, monospace" };
    this.svg = svgElement("svg", { ...roles, ...font }, this.base, this.strokes, this.nodes, this.packets);
    this.host = host;
    host.append(this.svg);
    this.scene = /** @type {Scene | null} */ (null);
    this.place = "";
    /** the width of all boxes, in which the longest label fits */
    this.boxWidth = 0;
  }

  destroy() {
    this.svg.remove();
  }

  /** @param {Scene} scene */
  prepare({ drawing }) {
    if (this.scene?.drawing === drawing) return;
    this.base.replaceChildren();
    this.nodes.replaceChildren();
    for (let link = 0; link < drawing.linkCount; link++) {
      const line = svgElement("path", { fill: "none", "stroke-linecap": "round" });
      if (drawing.isWrapped(link)) line.setAttribute("stroke-dasharray", "2 4");
      this.base.append(line);
    }
    this.boxWidth = 0;
    for (let item = 0; item < drawing.count; item++) {
      const text = drawing.itemText(item);
      this.boxWidth = Math.max(this.boxWidth, CHARACTER * text.length + 8);
      const label = svgElement("text", { "text-anchor": "middle", dy: "0.36em" }, text);
      const parts = [svgElement("path", { d: "" }), svgElement("rect"), label];
      this.nodes.append(svgElement("g", { role: "button", tabindex: -1, "data-node": text }, ...parts));
    }
  }

  /** @param {Scene} scene @param {Camera} camera @param {number} progress of moving packets, 0 to 1 */
  draw(scene, camera, progress) {
    this.prepare(scene);
    const { drawing } = scene;
    const place = `${camera.scale} ${camera.x} ${camera.y}`;
    // Between two steps, only packets move.
    if (this.scene !== scene || this.place !== place) {
      this.scene = scene;
      this.place = place;
      const { clientWidth, clientHeight } = this.host;
      const viewBox = `0 0 ${clientWidth} ${clientHeight}`; // lets a printer scale the picture
      update(this.svg, { "aria-label": `${drawing.network.data.spec}, ${drawing.layout}`, viewBox });
      [...this.base.children].forEach((line, link) => {
        const width = drawing.isQuotient ? 0.5 + 0.4 * Math.log10(drawing.weight[link]) : scene.isFaint ? 1 : 1.6;
        const stroke = css(scene.baseColour(link, scene.theme.faint));
        update(line, { d: pathOf(drawing.pieces(camera, link)), stroke, "stroke-width": width });
      });
      this.drawStrokes(scene, camera);
      this.drawNodes(scene, camera);
    }
    this.drawPackets(scene, camera, progress);
  }

  /** @param {Scene} scene @param {Camera} camera */
  drawStrokes(scene, camera) {
    const drawn = [];
    const { half, high } = this.nodeSize(scene.drawing, camera);
    for (const { stroke, parts, width, colour } of scene.placeStrokes(camera)) {
      const line = svgElement("path", { d: pathOf(parts), stroke: colour, "stroke-width": width, "stroke-linecap": "round" });
      if (stroke.alpha < 255) line.setAttribute("stroke-opacity", (stroke.alpha / 255).toFixed(2));
      drawn.push(line);
      if (stroke.packet) drawn.push(arrowHead(parts[parts.length - 1], half, high, width, colour));
    }
    this.strokes.replaceChildren(...drawn);
  }

  /**
   * The size of labels, 0 if there is no space for them, and half the width and height of a node: a
   * box around its label, or a dot. When the browser zooms the page, labels shrink so that they keep
   * their size on the screen.
   *
   * @param {Drawing} drawing @param {Camera} camera
   */
  nodeSize(drawing, camera) {
    const radius = drawing.radius(camera);
    const room = Math.min(camera.scale / drawing.boxScale(this.boxWidth + GAP, BOX_HEIGHT + GAP), 1);
    const size = room < Math.max(1 / devicePixelRatio, 0.5) ? 0 : room;
    return { size, half: size ? (size * this.boxWidth) / 2 : radius, high: size ? (size * BOX_HEIGHT) / 2 : radius };
  }

  /** @param {Scene} scene @param {Camera} camera */
  drawNodes(scene, camera) {
    const { drawing, theme, marks } = scene;
    const focused = marks.selected >= 0 ? drawing.itemOf[marks.selected] : 0;
    const { half, high, size } = this.nodeSize(drawing, camera);
    const hasSwitches = drawing.network.endpointCount < drawing.network.nodeCount;
    update(this.nodes, { "font-size": 11 * size });
    [...this.nodes.children].forEach((group, item) => {
      const [x, y] = drawing.place(item, camera);
      const [cross, box, label] = group.children;
      const ring = scene.ring[item];
      const isDead = !drawing.isQuotient && marks.deadNodes.has(item);
      const lacks = ring === LACKING && !drawing.isQuotient ? `, units missing: ${marks.lacking?.[item]}` : "";
      const note = isDead ? "dead" : `${scene.note(item)}${lacks}`;
      const name = drawing.itemText(item);
      update(group, {
        transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
        tabindex: item === focused ? 0 : -1,
        "aria-label": [name, drawing.isSwitch(item) ? "switch" : "", note].filter(Boolean).join(", "),
        "aria-pressed": String(ring === 2),
        class: ring === 2 ? "node selected" : "node",
      });
      const fill = isDead ? theme.line : scene.fillOf(item);
      update(box, {
        x: -half,
        y: -high,
        width: 2 * half,
        height: 2 * high,
        rx: drawing.isSwitch(item) ? 0 : hasSwitches ? high : size ? 4 : half,
        fill: css(fill),
        stroke: css(ring === LACKING ? theme.trees[1] : ring ? theme.ink : mix(theme.muted, theme.ink, 0.2)),
        "stroke-width": [1, 2.5, 4, 4][ring] * (size || 1),
      });
      update(cross, {
        d: isDead ? `M${-half - 6} ${-high - 6}L${half + 6} ${high + 6}M${half + 6} ${-high - 6}L${-half - 6} ${high + 6}` : "",
        stroke: css(theme.ink),
        "stroke-width": 2.5,
      });
      update(label, { display: size ? "inline" : "none", fill: readableOn(fill) });
    });
  }

  /** @param {Scene} scene @param {Camera} camera @param {number} progress */
  drawPackets(scene, camera, progress) {
    const dots = [];
    const outline = { stroke: css(scene.theme.paper), "stroke-width": 1.2 };
    for (const { stroke, parts, width, colour } of scene.placeStrokes(camera)) {
      const place = stroke.packet && placePacket(parts, progress);
      const radius = Math.min(width + 1, 4);
      if (place) dots.push(svgElement("circle", { cx: place[0], cy: place[1], r: radius, fill: colour, ...outline }));
    }
    this.packets.replaceChildren(...dots);
  }
}

/** @param {number[][]} parts of a link @returns {string} the path of the link */
function pathOf(parts) {
  return parts
    .map(([x1, y1, x2, y2], at) => `${at && parts.length > 2 ? "" : `M${x1.toFixed(1)} ${y1.toFixed(1)}`}L${x2.toFixed(1)} ${y2.toFixed(1)}`)
    .join("");
}

/**
 * @param {number[]} line x1, y1, x2, y2 @param {number} half @param {number} high of the node at its end
 * @param {number} width @param {string} colour @returns {SVGElement} an arrowhead in front of the node
 */
function arrowHead([x1, y1, x2, y2], half, high, width, colour) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
  const edge = half === high ? half : Math.min(half / (Math.abs(ux) || 1e-6), high / (Math.abs(uy) || 1e-6));
  const tip = [x2 - ux * (edge + 2), y2 - uy * (edge + 2)];
  const size = 4 + width;
  const left = [tip[0] - ux * size - uy * size * 0.55, tip[1] - uy * size + ux * size * 0.55];
  const right = [tip[0] - ux * size + uy * size * 0.55, tip[1] - uy * size - ux * size * 0.55];
  const points = [tip, left, right].map((point) => point.map((value) => value.toFixed(1)).join(",")).join(" ");
  return svgElement("polygon", { points, fill: colour });
}
