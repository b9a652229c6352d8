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
        const box = host.getBoundingClientRect();
        this.zoom(is / (was || 1), (event.clientX + other.x) / 2 - box.left, (event.clientY + other.y) / 2 - box.top);
      } else this.move(dx, dy);
    });
    /** @param {PointerEvent} event */
    const release = (event) => {
      if (!pointers.delete(event.pointerId)) return;
      const box = host.getBoundingClientRect();
      if (moved >= 5) onChange(true);
      else if (event.type === "pointerup") onClick(event.clientX - box.left, event.clientY - box.top);
    };
    addEventListener("pointerup", release);
    addEventListener("pointercancel", release);
    host.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && doesPageScroll()) return;
        event.preventDefault();
        const box = host.getBoundingClientRect();
        this.zoom(Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
        onChange(true);
      },
      { passive: false },
    );
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
    const scale = Math.min(Math.max(this.scale * factor, 1e-3), 1e4);
    this.x = x - ((x - this.x) * scale) / this.scale;
    this.y = y - ((y - this.y) * scale) / this.scale;
    this.scale = scale;
    this.isFitted = false;
    this.onChange(false);
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
    this.scale = Math.min(Math.max(scale, 1e-3), 1e4);
    this.x = this.host.clientWidth / 2 - x * this.scale;
    this.y = this.host.clientHeight / 2 - y * this.scale;
    this.isFitted = false;
    return true;
  }
}
