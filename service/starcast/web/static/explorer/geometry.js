/** Positions and sizes in pixels, which are the same for all renderers. */

import { STUB } from "./network.js";

/** @typedef {import("./network.js").Drawing} Drawing */
/** @typedef {import("./camera.js").Camera} Camera */
/** @typedef {import("./scene.js").Scene} Scene */

const CURVE_PIECES = 8;

/**
 * The pieces of a link in pixels: one piece, or two stubs if it crosses the border of the torus.
 *
 * @param {Drawing} drawing @param {{scale: number, x: number, y: number}} camera
 * @param {number} link @param {boolean} back @param {number} shift to the left, in pixels
 * @returns {number[][]} per piece x1, y1, x2, y2, and the fractions of the link at which it begins and ends
 */
export function pieces(drawing, camera, link, back, shift) {
  const from = back ? drawing.b[link] : drawing.a[link];
  const to = back ? drawing.a[link] : drawing.b[link];
  const sign = back ? -1 : 1;
  const sx = sign * drawing.shiftX[link] * camera.scale;
  const sy = sign * drawing.shiftY[link] * camera.scale;
  let x1 = drawing.x[from] * camera.scale + camera.x;
  let y1 = drawing.y[from] * camera.scale + camera.y;
  let x2 = drawing.x[to] * camera.scale + camera.x + sx;
  let y2 = drawing.y[to] * camera.scale + camera.y + sy;
  if (shift) {
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const ox = ((y2 - y1) / length) * shift;
    const oy = ((x1 - x2) / length) * shift;
    x1 += ox;
    x2 += ox;
    y1 += oy;
    y2 += oy;
  }
  if (!sx && !sy) {
    const bend = sign * drawing.bend[link] * camera.scale;
    return bend ? curve(x1, y1, x2, y2, bend) : [[x1, y1, x2, y2, 0, 1]];
  }
  const mx = x1 + STUB * (x2 - x1);
  const my = y1 + STUB * (y2 - y1);
  const nx = x2 - STUB * (x2 - x1) - sx;
  const ny = y2 - STUB * (y2 - y1) - sy;
  return [[x1, y1, mx, my, 0, STUB], [nx, ny, x2 - sx, y2 - sy, 1 - STUB, 1]];
}

/**
 * @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2
 * @param {number} bend to the left, in pixels
 * @returns {number[][]}
 */
function curve(x1, y1, x2, y2, bend) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const mx = (x1 + x2) / 2 + ((y2 - y1) / length) * bend;
  const my = (y1 + y2) / 2 + ((x1 - x2) / length) * bend;
  const at = (/** @type {number} */ t) => [
    (1 - t) ** 2 * x1 + 2 * t * (1 - t) * mx + t * t * x2,
    (1 - t) ** 2 * y1 + 2 * t * (1 - t) * my + t * t * y2,
  ];
  return Array.from({ length: CURVE_PIECES }, (_, index) => {
    const [first, last] = [index / CURVE_PIECES, (index + 1) / CURVE_PIECES];
    return [...at(first), ...at(last), first, last];
  });
}

/** @param {Drawing} drawing @param {{scale: number}} camera @returns {number} in pixels */
export function nodeRadius(drawing, camera) {
  return Math.min(Math.max(drawing.spacing() * camera.scale * 0.26, 0.8), drawing.isQuotient ? 22 : 11);
}

/**
 * Strokes are thinner if nodes are small, because the strokes of many links would cover everything.
 *
 * @param {Drawing} drawing @param {{scale: number}} camera @returns {number} the factor of widths
 */
export function strokeScale(drawing, camera) {
  return Math.min(Math.max(nodeRadius(drawing, camera) / 8, 0.3), 1);
}

/**
 * Yield the strokes of a scene with their pieces and widths in pixels.
 *
 * @param {Scene} scene @param {{scale: number, x: number, y: number}} camera
 */
export function* placeStrokes({ drawing, strokes }, camera) {
  const thin = strokeScale(drawing, camera);
  for (const stroke of strokes) {
    const parts = pieces(drawing, camera, stroke.link, stroke.back, stroke.shift * thin);
    yield { stroke, parts, width: stroke.width * thin };
  }
}

/**
 * @param {number[][]} parts the pieces of a link @param {number} progress of the packet, 0 to 1
 * @returns {[number, number] | null} its position in pixels, or null between two stubs
 */
export function placePacket(parts, progress) {
  const part = parts.find(([, , , , first, last]) => progress >= first && progress <= last);
  if (!part) return null;
  const [x1, y1, x2, y2, first, last] = part;
  const along = (progress - first) / (last - first);
  return [x1 + along * (x2 - x1), y1 + along * (y2 - y1)];
}

/**
 * @param {Drawing} drawing @param {Camera} camera @param {number} x @param {number} y
 * @returns {{node: number, link: number}} the item or drawn link at a position in pixels, or -1
 */
export function pick(drawing, camera, x, y) {
  const reach = Math.max(nodeRadius(drawing, camera) * 1.3, 9);
  let node = -1;
  let nearest = reach;
  for (let item = 0; item < drawing.count; item++) {
    const distance = Math.hypot(drawing.x[item] * camera.scale + camera.x - x, drawing.y[item] * camera.scale + camera.y - y);
    if (distance < nearest) {
      nearest = distance;
      node = item;
    }
  }
  if (node >= 0) return { node, link: -1 };
  let link = -1;
  nearest = 7;
  for (let candidate = 0; candidate < drawing.linkCount; candidate++) {
    for (const [x1, y1, x2, y2] of pieces(drawing, camera, candidate, false, 0)) {
      const squared = (x2 - x1) ** 2 + (y2 - y1) ** 2 || 1;
      const along = Math.min(Math.max(((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / squared, 0), 1);
      const distance = Math.hypot(x1 + along * (x2 - x1) - x, y1 + along * (y2 - y1) - y);
      if (distance < nearest) {
        nearest = distance;
        link = candidate;
      }
    }
  }
  return { node: -1, link };
}
