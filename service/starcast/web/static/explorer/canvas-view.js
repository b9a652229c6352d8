/** The renderer of large topologies in browsers without WebGL2: a plain 2D canvas. */

import { nodeRadius, pieces, placePacket, placeStrokes } from "./geometry.js";
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
  const { drawing, theme } = scene;
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
  const dots = [];
  for (const { stroke, parts, width: lineWidth } of placeStrokes(scene, camera)) {
    context.globalAlpha = stroke.alpha / 255;
    context.strokeStyle = css(stroke.colour);
    context.lineWidth = lineWidth;
    context.beginPath();
    for (const [x1, y1, x2, y2] of parts) {
      context.moveTo(x1, y1);
      context.lineTo(x2, y2);
    }
    context.stroke();
    const place = stroke.packet && placePacket(parts, progress);
    if (place) dots.push({ x: place[0], y: place[1], r: lineWidth + 1, colour: context.strokeStyle });
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
