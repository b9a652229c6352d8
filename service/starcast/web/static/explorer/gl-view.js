/**
 * The renderer of large topologies: WebGL2 without a library. Positions are uploaded once per
 * drawing, and links are drawn once per view; a step uploads and draws only nodes and strokes.
 */

import { nodeRadius, strokeScale } from "./geometry.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./camera.js").Camera} Camera */
/** @typedef {import("./network.js").Drawing} Drawing */

const CAMERA = `#version 300 es
precision highp float;
uniform vec3 camera; // scale, x, y
uniform vec2 size;
uniform float thin; // factor of the widths of strokes
vec2 pixels(vec2 place) { return place * camera.x + camera.yz; }
vec4 clip(vec2 pixel) { return vec4(pixel / size * vec2(2.0, -2.0) + vec2(-1.0, 1.0), 0.0, 1.0); }
`;
const LINKS = [
  `${CAMERA}
in vec2 place; in vec4 tint; out vec4 colour;
void main() { colour = tint; gl_Position = clip(pixels(place)); }`,
  `#version 300 es
precision mediump float;
in vec4 colour; out vec4 pixel;
void main() { pixel = colour; }`,
];
const STROKES = [
  `${CAMERA}
in vec2 corner; in vec4 ends; in vec4 tint; in vec2 form; out vec4 colour;
void main() {
  vec2 from = pixels(ends.xy); vec2 to = pixels(ends.zw);
  vec2 along = normalize(to - from + vec2(1e-6, 0.0));
  vec2 left = vec2(along.y, -along.x);
  colour = tint;
  gl_Position = clip(mix(from, to, corner.x) + left * (thin * form.y + corner.y * max(thin * form.x, 1.1)));
}`,
  LINKS[1],
];
const DOT = `#version 300 es
precision mediump float;
in vec4 colour; in float edge; in vec4 rim; out vec4 pixel;
void main() {
  float away = length(gl_PointCoord - 0.5) * 2.0;
  if (away > 1.0) discard;
  pixel = away > 1.0 - edge ? rim : colour;
}`;
const NODES = [
  `${CAMERA}
in vec2 place; in vec4 tint; in float mark; uniform vec2 radius; uniform vec4 ink; uniform vec4 warning;
out vec4 colour; out float edge; out vec4 rim;
void main() {
  colour = radius.x < 2.5 ? mix(tint, ink, 0.3) : tint; // too small for an outline
  rim = mark > 2.5 ? warning : ink;
  float r = radius.x + min(mark, 2.0) * 2.0;
  edge = mark > 0.0 ? 0.45 : r > 2.5 ? 1.2 / r : 0.0;
  gl_Position = clip(pixels(place));
  gl_PointSize = 2.0 * r * radius.y;
}`,
  DOT,
];
const PACKETS = [
  `${CAMERA}
in vec4 ends; in vec4 tint; in vec2 form; uniform vec2 progress; out vec4 colour; out float edge; out vec4 rim;
void main() {
  vec2 from = pixels(ends.xy); vec2 to = pixels(ends.zw);
  vec2 along = normalize(to - from + vec2(1e-6, 0.0));
  colour = tint; edge = 0.0; rim = tint;
  gl_Position = clip(mix(from, to, progress.x) + vec2(along.y, -along.x) * thin * form.y);
  gl_PointSize = (form.x * thin * 2.0 + 1.5) * progress.y;
}`,
  DOT,
];

/** Whether this browser has WebGL2. */
export function hasWebGl() {
  return document.createElement("canvas").getContext("webgl2") !== null;
}

export class GlView {
  /** @param {HTMLElement} host */
  constructor(host) {
    this.host = host;
    this.canvas = document.createElement("canvas");
    this.canvas.className = "view";
    host.append(this.canvas);
    const gl = this.canvas.getContext("webgl2", { antialias: false });
    if (!gl) throw new Error("this browser has no WebGL2");
    this.gl = gl;
    this.links = this.program(LINKS);
    this.strokes = this.program(STROKES);
    this.nodes = this.program(NODES);
    this.packets = this.program(PACKETS);
    /** @type {Record<string, WebGLBuffer>} */
    this.buffers = {};
    /** @type {Drawing | null} */
    this.drawing = null;
    this.painted = "";
    /** the view, size and colours with which the links were last drawn, as text */
    this.ground = "";
    this.groundBuffer = gl.createFramebuffer();
    this.groundPixels = gl.createRenderbuffer();
    /** @type {Scene | null} */
    this.scene = null;
    this.upload("corner", new Float32Array([0, -0.5, 1, -0.5, 0, 0.5, 1, 0.5]));
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  destroy() {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
    this.canvas.remove();
  }

  /** @param {string} _label */
  focus(_label) {}

  /** @param {string[]} sources @returns {WebGLProgram} */
  program(sources) {
    const { gl } = this;
    const program = gl.createProgram();
    [gl.VERTEX_SHADER, gl.FRAGMENT_SHADER].forEach((type, index) => {
      const shader = /** @type {WebGLShader} */ (gl.createShader(type));
      gl.shaderSource(shader, sources[index]);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    });
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
      throw new Error(`WebGL2: ${gl.getProgramInfoLog(program)}`);
    }
    return program;
  }

  /** @param {string} name @param {Float32Array | Uint8Array} values */
  upload(name, values) {
    const { gl } = this;
    this.buffers[name] ??= gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
  }

  /**
   * @param {WebGLProgram} program @param {Camera} camera
   * @param {Record<string, [buffer: string, size: number, isBytes?: boolean]>} attributes
   * @param {string[]} [perInstance] the attributes that have a value for each instance, not for each corner
   */
  use(program, camera, attributes, perInstance = []) {
    const { gl } = this;
    gl.useProgram(program);
    for (let location = 0; location < 4; location++) gl.disableVertexAttribArray(location);
    gl.uniform3f(gl.getUniformLocation(program, "camera"), camera.scale, camera.x, camera.y);
    const thin = this.drawing ? strokeScale(this.drawing, camera) : 1;
    gl.uniform1f(gl.getUniformLocation(program, "thin"), thin);
    gl.uniform2f(gl.getUniformLocation(program, "size"), this.host.clientWidth, this.host.clientHeight);
    for (const [name, [buffer, size, isBytes = false]] of Object.entries(attributes)) {
      const location = gl.getAttribLocation(program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[buffer]);
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, size, isBytes ? gl.UNSIGNED_BYTE : gl.FLOAT, isBytes && size === 4, 0, 0);
      gl.vertexAttribDivisor(location, perInstance.includes(name) ? 1 : 0);
    }
  }

  /** @param {Scene} scene */
  prepare(scene) {
    const { drawing, theme } = scene;
    if (this.drawing !== drawing) {
      this.drawing = drawing;
      const { a, b, x, y, shiftX, shiftY } = drawing;
      const places = new Float32Array(2 * drawing.count);
      for (let item = 0; item < drawing.count; item++) places.set([x[item], y[item]], 2 * item);
      this.upload("places", places);
      const ends = new Float32Array(4 * drawing.linkCount);
      for (let link = 0; link < drawing.linkCount; link++) {
        const [from, to] = [a[link], b[link]];
        ends.set([x[from], y[from], x[to] + shiftX[link], y[to] + shiftY[link]], 4 * link);
      }
      this.upload("ends", ends);
      this.painted = "";
      this.ground = "";
      this.scene = null;
    }
    const painted = `${scene.base} ${theme.line} ${theme.trees}`;
    if (this.painted !== painted) {
      this.painted = painted;
      this.paintLinks(scene);
    }
    if (this.scene !== scene) {
      this.scene = scene;
      this.upload("fill", scene.fill);
      this.upload("ring", scene.ring);
      this.uploadStrokes(scene);
    }
  }

  /** @param {Scene} scene */
  paintLinks({ drawing, theme, base }) {
    const tints = new Uint8Array(8 * drawing.linkCount);
    const isFaint = base === "faint" || drawing.isQuotient;
    // Many links on few pixels are fainter, because they would merge into a solid patch.
    const alpha = drawing.linkCount > 4000 ? 110 : 200;
    for (let link = 0; link < drawing.linkCount; link++) {
      const tint = isFaint ? theme.line : theme.trees[drawing.port[link] % 8];
      for (const at of [8 * link, 8 * link + 4]) {
        tints.set(tint, at);
        tints[at + 3] = alpha;
      }
    }
    this.upload("tints", tints);
  }

  /** @param {Scene} scene */
  uploadStrokes({ drawing: { a, b, x, y }, strokes }) {
    const ends = new Float32Array(4 * strokes.length);
    const forms = new Float32Array(2 * strokes.length);
    const tints = new Uint8Array(4 * strokes.length);
    this.packetCount = 0;
    strokes.forEach(({ link, back, colour, alpha, width, shift, packet }, at) => {
      const [from, to] = back ? [b[link], a[link]] : [a[link], b[link]];
      ends.set([x[from], y[from], x[to], y[to]], 4 * at);
      forms.set([width, shift], 2 * at);
      tints.set([...colour, alpha], 4 * at);
      // Strokes with packets are the first ones, because strokes of dead and selected links are added last.
      if (packet) this.packetCount = at + 1;
    });
    this.upload("strokeEnds", ends);
    this.upload("strokeForms", forms);
    this.upload("strokeTints", tints);
  }

  /**
   * Draw all links unless they are drawn already, and copy them to the canvas.
   *
   * @param {Scene} scene @param {Camera} camera @param {number} width @param {number} height
   */
  drawGround({ drawing, theme }, camera, width, height) {
    const { gl } = this;
    const ground = `${camera.scale} ${camera.x} ${camera.y} ${width} ${height} ${theme.paper} ${this.painted}`;
    if (this.ground !== ground) {
      this.ground = ground;
      const [red, green, blue] = theme.paper;
      gl.bindRenderbuffer(gl.RENDERBUFFER, this.groundPixels);
      gl.renderbufferStorage(gl.RENDERBUFFER, gl.RGBA8, width, height);
      gl.bindFramebuffer(gl.FRAMEBUFFER, this.groundBuffer);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.RENDERBUFFER, this.groundPixels);
      gl.clearColor(red / 255, green / 255, blue / 255, 1);
      gl.clear(gl.COLOR_BUFFER_BIT);
      this.use(this.links, camera, { place: ["ends", 2], tint: ["tints", 4, true] });
      gl.drawArrays(gl.LINES, 0, 2 * drawing.linkCount);
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.clear(gl.COLOR_BUFFER_BIT); // otherwise Chromium clears a new frame after the copy
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, this.groundBuffer);
    gl.blitFramebuffer(0, 0, width, height, 0, 0, width, height, gl.COLOR_BUFFER_BIT, gl.NEAREST);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  /** @param {Scene} scene @param {Camera} camera @param {number} progress */
  draw(scene, camera, progress) {
    const { gl, host, canvas } = this;
    const ratio = devicePixelRatio;
    const width = Math.max(Math.round(host.clientWidth * ratio), 1);
    const height = Math.max(Math.round(host.clientHeight * ratio), 1);
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    this.prepare(scene);
    const { drawing, theme, strokes } = scene;
    gl.viewport(0, 0, width, height);
    this.drawGround(scene, camera, width, height);
    const radius = nodeRadius(drawing, camera);
    /** @type {Record<string, [string, number, boolean?]>} */
    const stroke = { ends: ["strokeEnds", 4], tint: ["strokeTints", 4, true], form: ["strokeForms", 2] };
    if (strokes.length) {
      this.use(this.strokes, camera, { corner: ["corner", 2], ...stroke }, Object.keys(stroke));
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, strokes.length);
    }
    this.use(this.nodes, camera, { place: ["places", 2], tint: ["fill", 4, true], mark: ["ring", 1, true] });
    gl.uniform2f(gl.getUniformLocation(this.nodes, "radius"), radius, ratio);
    for (const [name, colour] of Object.entries({ ink: theme.ink, warning: theme.trees[1] })) {
      gl.uniform4f(gl.getUniformLocation(this.nodes, name), colour[0] / 255, colour[1] / 255, colour[2] / 255, 1);
    }
    gl.drawArrays(gl.POINTS, 0, drawing.count);
    if (!this.packetCount) return;
    this.use(this.packets, camera, stroke);
    gl.uniform2f(gl.getUniformLocation(this.packets, "progress"), progress, ratio);
    gl.drawArrays(gl.POINTS, 0, this.packetCount);
  }
}
