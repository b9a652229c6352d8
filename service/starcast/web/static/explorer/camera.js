/** The visible part of the drawing, moved by pointer, wheel, touch and buttons. */

/** Return whether the page is longer than the window. Then wheel and arrow keys scroll the page, not the picture. */
export function doesPageScroll() {
  return document.documentElement.scrollHeight > innerHeight;
}

export class Camera {
  /**
   * @param {HTMLElement} host
   * @param {(isFinal: boolean) => void} onChange
   * @param {(x: number, y: number) => void} onClick receives the position in the host, in pixels
   */
  constructor(host, onChange, onClick) {
    this.host = host;
    this.scale = 1;
    this.x = 0; // position of the drawing's origin, in pixels
    this.y = 0;
    this.isFitted = true;
    this.size = { width: 0, height: 0 };
    this.onChange = onChange;
    /** @param {number} x @param {number} y @returns {[number, number]} the position in the host of a position in the window */
    const inHost = (x, y) => [x - host.getBoundingClientRect().left, y - host.getBoundingClientRect().top];
    /** @type {Map<number, {x: number, y: number}>} */
    const pointers = new Map();
    let moved = 0;
    host.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      moved = pointers.size > 1 ? Infinity : 0;
    });
    addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return;
      const others = [...pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      const dx = event.clientX - before.x;
      const dy = event.clientY - before.y;
      moved += Math.abs(dx) + Math.abs(dy);
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (moved < 5) return;
      if (others.length) {
        const [other] = others;
        const was = Math.hypot(before.x - other.x, before.y - other.y);
        const is = Math.hypot(event.clientX - other.x, event.clientY - other.y);
        this.zoom(is / (was || 1), ...inHost((event.clientX + other.x) / 2, (event.clientY + other.y) / 2));
      } else this.move(dx, dy);
    });
    /** @param {PointerEvent} event */
    const release = (event) => {
      if (!pointers.delete(event.pointerId)) return;
      if (moved >= 5) onChange(true);
      else if (event.type === "pointerup") onClick(...inHost(event.clientX, event.clientY));
    };
    addEventListener("pointerup", release);
    addEventListener("pointercancel", release);
    /** @param {WheelEvent} event */
    const onWheel = (event) => {
      if (!event.ctrlKey && doesPageScroll()) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400), ...inHost(event.clientX, event.clientY));
      onChange(true);
    };
    host.addEventListener("wheel", onWheel, { passive: false });
  }

  /** @param {number} dx @param {number} dy in pixels */
  move(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.isFitted = false;
    this.onChange(false);
  }

  /** @param {number} factor @param {number} [x] @param {number} [y] the fixed point, in pixels */
  zoom(factor, x = this.host.clientWidth / 2, y = this.host.clientHeight / 2) {
    this.show((x - this.x) / this.scale, (y - this.y) / this.scale, this.scale * factor, x, y);
    this.onChange(false);
  }

  /** @param {number} x @param {number} y a point of the drawing @param {number} scale @param {number} [px] @param {number} [py] its position in pixels */
  show(x, y, scale, px = this.host.clientWidth / 2, py = this.host.clientHeight / 2) {
    this.scale = Math.min(Math.max(scale, 1e-3), 1e4);
    this.x = px - x * this.scale;
    this.y = py - y * this.scale;
    this.isFitted = false;
  }

  /** @param {{left: number, top: number, right: number, bottom: number}} box */
  fit(box) {
    this.measure();
    const width = this.host.clientWidth || 1;
    const height = this.host.clientHeight || 1;
    const margin = Math.min(36, width / 8);
    const across = Math.max(box.right - box.left, 0.5);
    const down = Math.max(box.bottom - box.top, 0.5);
    this.scale = Math.min((width - 2 * margin) / across, (height - 2 * margin) / down, 120);
    this.x = width / 2 - (this.scale * (box.left + box.right)) / 2;
    this.y = height / 2 - (this.scale * (box.top + box.bottom)) / 2;
    this.isFitted = true;
    this.onChange(false);
  }

  /** Keep the centre of the view after the host's size changed. */
  recentre() {
    const { width, height } = this.size;
    this.measure();
    this.x += (this.size.width - width) / 2;
    this.y += (this.size.height - height) / 2;
    this.onChange(false);
  }

  /** Record the size for which the view was computed. */
  measure() {
    this.size = { width: this.host.clientWidth, height: this.host.clientHeight };
  }

  /** @returns {string} the centre of the view in the drawing, and the scale, as text for the URL */
  toText() {
    const x = (this.host.clientWidth / 2 - this.x) / this.scale;
    const y = (this.host.clientHeight / 2 - this.y) / this.scale;
    return [x, y, this.scale].map((value) => Number(value.toPrecision(5))).join(",");
  }

  /** Show the view that a text describes. @param {string} text @returns {boolean} whether the text is valid */
  fromText(text) {
    const [x, y, scale, ...rest] = text.split(",").map(Number);
    if (![x, y, scale].every(Number.isFinite) || rest.length || scale <= 0) return false;
    this.measure();
    this.show(x, y, scale);
    return true;
  }
}
