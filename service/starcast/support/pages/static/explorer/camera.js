/** The visible part of the drawing, moved by pointer, wheel, touch and buttons. */

/** @import { Explorer } from "./main.js" */

/** Return whether the page is longer than the window. In this case, wheel and arrow keys scroll the page, not the picture. */
export function doesPageScroll() {
  return document.documentElement.scrollHeight > innerHeight;
}

/** @param {PointerEvent} one @param {PointerEvent} other @returns {number} */
function distance(one, other) {
  return Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
}

export class Camera {
  /** @param {Explorer} explorer */
  constructor(explorer) {
    const host = /** @type {HTMLElement} */ (explorer.stage);
    this.host = host;
    this.scale = 1;
    this.x = 0; // position of the drawing's origin, in pixels
    this.y = 0;
    /** the point of the drawing in the middle of the host @type {[x: number, y: number]} */
    this.centre = [0, 0];
    this.isFitted = true;
    this.explorer = explorer;
    /** the last event of each pointer that is pressed in the host @type {Map<number, PointerEvent>} */
    this.pointers = new Map();
    /** @param {number} x @param {number} y @returns {[number, number]} the position in the host of a position in the window */
    const inHost = (x, y) => [x - host.getBoundingClientRect().left, y - host.getBoundingClientRect().top];
    const { pointers } = this;
    let moved = 0;
    host.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      pointers.set(event.pointerId, event);
      moved = pointers.size > 1 ? Infinity : 0;
    });
    addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return;
      pointers.set(event.pointerId, event);
      const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
      moved += Math.abs(dx) + Math.abs(dy);
      if (moved < 5) return;
      const other = [...pointers.values()].find(({ pointerId }) => pointerId !== event.pointerId);
      if (!other) this.move(dx, dy);
      else {
        const middle = inHost((event.clientX + other.clientX) / 2, (event.clientY + other.clientY) / 2);
        this.zoom(distance(event, other) / (distance(before, other) || 1), ...middle);
      }
    });
    /** @param {PointerEvent} event */
    const release = (event) => {
      if (!pointers.delete(event.pointerId)) return;
      if (moved >= 5) this.explorer.onCamera();
      else if (event.type === "pointerup") explorer.onClick(...inHost(event.clientX, event.clientY));
    };
    addEventListener("pointerup", release);
    addEventListener("pointercancel", release);
    host.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && doesPageScroll()) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400), ...inHost(event.clientX, event.clientY));
    });
  }

  /** Show a point of the drawing in the middle of the host. @param {number} x @param {number} y @param {number} scale */
  show(x, y, scale, isFitted = false) {
    this.centre = [x, y];
    this.scale = scale;
    this.x = this.host.clientWidth / 2 - x * scale;
    this.y = this.host.clientHeight / 2 - y * scale;
    this.isFitted = isFitted;
    this.explorer.onCamera();
  }

  /** @param {number} dx @param {number} dy in pixels */
  move(dx, dy) {
    const [x, y] = this.centre;
    this.show(x - dx / this.scale, y - dy / this.scale, this.scale);
  }

  /** @param {number} factor @param {number} [px] @param {number} [py] the fixed point, in pixels */
  zoom(factor, px = this.host.clientWidth / 2, py = this.host.clientHeight / 2) {
    const [x, y] = this.centre;
    const scale = bounded(this.scale * factor);
    const shift = 1 / this.scale - 1 / scale;
    this.show(x + (px - this.host.clientWidth / 2) * shift, y + (py - this.host.clientHeight / 2) * shift, scale);
  }

  /** Show the entire drawing. */
  fit() {
    if (!this.explorer.drawing) return;
    const { left, top, right, bottom } = this.explorer.drawing.bounds;
    const width = this.host.clientWidth || 1;
    const height = this.host.clientHeight || 1;
    const margin = Math.min(36, width / 8);
    const across = Math.max(right - left, 0.5);
    const down = Math.max(bottom - top, 0.5);
    const scale = Math.min((width - 2 * margin) / across, (height - 2 * margin) / down, 120);
    this.show((left + right) / 2, (top + bottom) / 2, scale, true);
  }

  /** @returns {string} the centre of the view in the drawing, and the scale, as text for the URL */
  toText() {
    return [...this.centre, this.scale].map((value) => Number(value.toPrecision(5))).join(",");
  }

  /** Show the view that a text describes. @param {string} text @returns {boolean} whether the text is valid */
  fromText(text) {
    const [x, y, scale, ...rest] = text.split(",").map(Number);
    if (![x, y, scale].every(Number.isFinite) || rest.length || scale <= 0) return false;
    this.show(x, y, bounded(scale));
    return true;
  }
}

/** @param {number} scale */
const bounded = (scale) => Math.min(Math.max(scale, 1e-3), 1e4);
