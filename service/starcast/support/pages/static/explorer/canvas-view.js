/** The renderer of large topologies in browsers without WebGL2: a plain 2D canvas. */

import { element } from "../elements.js";
import { placePacket } from "./drawing.js";
import { LACKING, css } from "./scene.js";

/** @import { Camera } from "./camera.js" */
/** @import { Scene } from "./scene.js" */

/** A canvas as large as its host, in screen pixels. */
export class Canvas {
  /** @param {HTMLElement} host */
  constructor(host) {
    this.host = host;
    this.canvas = /** @type {HTMLCanvasElement} */ (element("canvas", { class: "view" }));
    host.append(this.canvas);
  }

  destroy() {
    this.canvas.remove();
  }

  resize() {
    const width = Math.max(Math.round(this.host.clientWidth * devicePixelRatio), 1);
    const height = Math.max(Math.round(this.host.clientHeight * devicePixelRatio), 1);
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
    return { width, height };
  }
}

export class CanvasView extends Canvas {
  /** @param {Scene} scene @param {Camera} camera @param {number} progress */
  draw(scene, camera, progress) {
    const { drawing, theme } = scene;
    const { width, height } = this.resize();
    const context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    /** @param {Path2D} path @param {number[][]} parts */
    const trace = (path, parts) => {
      for (const [x1, y1, x2, y2] of parts) {
        path.moveTo(x1, y1);
        path.lineTo(x2, y2);
      }
      return path;
    };
    /** @param {number} x @param {number} y @param {number} radius */
    const fillDot = (x, y, radius) => {
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.fill();
    };
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.fillStyle = css(theme.paper);
    context.fillRect(0, 0, width, height);
    context.lineCap = "round";
    context.lineWidth = 1;
    /** the links of each colour @type {Map<string, Path2D>} */
    const paths = new Map();
    for (let link = 0; link < drawing.linkCount; link++) {
      const colour = css(scene.baseColour(link, theme.line));
      paths.set(colour, trace(paths.get(colour) ?? new Path2D(), drawing.pieces(camera, link)));
    }
    for (const [colour, path] of paths) {
      context.strokeStyle = colour;
      context.stroke(path);
    }
    const packets = [];
    for (const { stroke, parts, width, colour } of scene.placeStrokes(camera)) {
      Object.assign(context, { globalAlpha: stroke.alpha / 255, strokeStyle: colour, lineWidth: width });
      context.stroke(trace(new Path2D(), parts));
      const place = stroke.packet && placePacket(parts, progress);
      if (place) packets.push({ place, radius: width + 1, colour });
    }
    context.globalAlpha = 1;
    const radius = drawing.radius(camera);
    scene.ring.forEach((ring, item) => {
      context.fillStyle = css(scene.fillOf(item));
      context.strokeStyle = css(ring === LACKING ? theme.trees[1] : theme.ink);
      context.lineWidth = [0.6, 2, 3, 3][ring];
      const [x, y] = drawing.place(item, camera);
      const size = radius + Math.min(ring, 2);
      if (drawing.isSwitch(item)) {
        context.beginPath();
        context.rect(x - size, y - size, 2 * size, 2 * size);
        context.fill();
      } else fillDot(x, y, size);
      if (radius > 2 || ring) context.stroke();
    });
    for (const { place, radius, colour } of packets) {
      context.fillStyle = colour;
      fillDot(...place, radius);
    }
  }
}
