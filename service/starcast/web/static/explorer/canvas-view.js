/** A renderer on a plain 2D canvas: for browsers without WebGL2, for PNG files, and for comparison in tests. */

import { nodeRadius, pieces, strokeScale } from "./geometry.js";
import { LACKING } from "./scene.js";
import { css } from "./theme.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./camera.js").Camera} Camera */

export class CanvasView {
  /** @param {HTMLElement} host */
  constructor(host) {
    this.canvas = document.createElement("canvas");
    this.canvas.className = "view";
    this.host = host;
    host.append(this.canvas);
    this.context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
  }

  destroy() {
    this.canvas.remove();
  }

  /** @param {string} _label */
  focus(_label) {}

  /** @param {Scene} scene @param {Camera} camera @param {number} progress */
  draw(scene, camera, progress) {
    const ratio = devicePixelRatio;
    const width = Math.round(this.host.clientWidth * ratio);
    const height = Math.round(this.host.clientHeight * ratio);
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    paintCanvas(this.context, scene, camera, progress, this.host.clientWidth, this.host.clientHeight);
  }
}

/**
 * @param {CanvasRenderingContext2D} context @param {Scene} scene
 * @param {{scale: number, x: number, y: number}} camera @param {number} progress
 * @param {number} width @param {number} height in pixels
 */
export function paintCanvas(context, scene, camera, progress, width, height) {
  const { drawing, theme, strokes } = scene;
  context.fillStyle = css(theme.paper);
  context.fillRect(0, 0, width, height);
  context.lineCap = "round";
  for (const [colour, links] of baseLinks(scene)) {
    context.strokeStyle = colour;
    context.lineWidth = 1;
    context.beginPath();
    for (const link of links) {
      for (const [x1, y1, x2, y2] of pieces(drawing, camera, link, false, 0)) {
        context.moveTo(x1, y1);
        context.lineTo(x2, y2);
      }
    }
    context.stroke();
  }
  const radius = nodeRadius(drawing, camera);
  const thin = strokeScale(drawing, camera);
  const dots = [];
  for (let at = 0; at < strokes.count; at++) {
    const [red, green, blue, alpha] = strokes.colour.subarray(4 * at, 4 * at + 4);
    context.globalAlpha = alpha / 255;
    context.strokeStyle = css([red, green, blue]);
    context.lineWidth = strokes.width[at] * thin;
    for (const [x1, y1, x2, y2, first, last] of pieces(drawing, camera, strokes.link[at], strokes.back[at] === 1, strokes.shift[at] * thin)) {
      context.beginPath();
      context.moveTo(x1, y1);
      context.lineTo(x2, y2);
      context.stroke();
      if (!strokes.packet[at] || progress < first || progress > last) continue;
      const along = (progress - first) / (last - first);
      dots.push({ x: x1 + along * (x2 - x1), y: y1 + along * (y2 - y1), r: strokes.width[at] * thin + 1, colour: context.strokeStyle });
    }
  }
  context.globalAlpha = 1;
  for (let item = 0; item < drawing.count; item++) {
    const [red, green, blue] = scene.fill.subarray(4 * item, 4 * item + 3);
    context.fillStyle = css([red, green, blue]);
    context.strokeStyle = css(scene.ring[item] === LACKING ? theme.trees[1] : theme.ink);
    context.lineWidth = [0.6, 2, 3, 3][scene.ring[item]];
    context.beginPath();
    context.arc(drawing.x[item] * camera.scale + camera.x, drawing.y[item] * camera.scale + camera.y, radius + Math.min(scene.ring[item], 2), 0, 2 * Math.PI);
    context.fill();
    if (radius > 2 || scene.ring[item]) context.stroke();
  }
  for (const dot of dots) {
    context.fillStyle = dot.colour;
    context.beginPath();
    context.arc(dot.x, dot.y, dot.r, 0, 2 * Math.PI);
    context.fill();
  }
}

/** @param {Scene} scene @returns {Map<string, number[]>} the drawn links by colour */
export function baseLinks(scene) {
  const { drawing, theme } = scene;
  const isFaint = scene.base === "faint" || drawing.isQuotient;
  /** @type {Map<string, number[]>} */
  const links = new Map();
  for (let link = 0; link < drawing.linkCount; link++) {
    const colour = css(isFaint ? theme.line : theme.trees[drawing.port[link] % 8]);
    if (!links.has(colour)) links.set(colour, []);
    links.get(colour)?.push(link);
  }
  return links;
}
