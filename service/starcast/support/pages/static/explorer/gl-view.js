/** The renderer of large topologies: WebGL2 without a library. Links are drawn once per view, nodes and strokes for every frame. */

import { Canvas } from "./canvas-view.js";

/** @import { Camera } from "./camera.js" */
/** @import { Colour, Scene } from "./scene.js" */

const CAMERA = `#version 300 es
precision highp float;
uniform vec3 camera; // scale, x, y
uniform vec2 size;
uniform float thin; // factor of the widths of strokes
vec2 pixels(vec2 place) { return place * camera.x + camera.yz; }
vec4 clip(vec2 pixel) { return vec4(pixel / size * vec2(2.0, -2.0) + vec2(-1.0, 1.0), 0.0, 1.0); }
vec4 beside(vec4 ends, float share, float shift) { // a point of a line, moved to its left
  vec2 from = pixels(ends.xy); vec2 to = pixels(ends.zw);
  vec2 along = normalize(to - from + vec2(1e-6, 0.0));
  return clip(mix(from, to, share) + vec2(along.y, -along.x) * shift);
}
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
  colour = tint;
  gl_Position = beside(ends, corner.x, thin * form.y + corner.y * max(thin * form.x, 1.1));
}`,
  LINKS[1],
];
const DOT = `#version 300 es
precision mediump float;
in vec4 colour; in float edge; in vec4 rim; in float corners; out vec4 pixel;
void main() {
  vec2 place = abs(gl_PointCoord - 0.5) * 2.0;
  float away = corners > 0.5 ? max(place.x, place.y) : length(place); // a switch is a square
  if (away > 1.0) discard;
  pixel = away > 1.0 - edge ? rim : colour;
}`;
const NODES = [
  `${CAMERA}
in vec2 place; in vec4 tint; in vec2 form; uniform vec2 radius; uniform vec4 ink; uniform vec4 warning;
out vec4 colour; out float edge; out vec4 rim; out float corners;
void main() {
  float mark = form.x;
  corners = form.y;
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
out float corners;
void main() {
  colour = tint; edge = 0.0; rim = tint; corners = 0.0;
  gl_Position = beside(ends, progress.x, thin * form.y);
  gl_PointSize = (form.x * thin * 2.0 + 1.5) * progress.y;
}`,
  DOT,
];

/** Whether this browser has WebGL2. */
export function hasWebGl() {
  return document.createElement("canvas").getContext("webgl2") !== null;
}

/** @param {Colour} colour @returns {number[]} */
const opaque = (colour) => [...colour.map((part) => part / 255), 1];

export class GlView extends Canvas {
  /** @param {HTMLElement} host */
  constructor(host) {
    super(host);
    const gl = this.canvas.getContext("webgl2", { antialias: false });
    if (!gl) throw new Error("this browser has no WebGL2");
    this.gl = gl;
    const [links, strokes, nodes, packets] = [LINKS, STROKES, NODES, PACKETS].map((sources) => this.program(sources));
    this.programs = { links, strokes, nodes, packets };
    /** @type {Record<string, WebGLBuffer>} */
    this.buffers = {};
    /** the scene, the colours of the links and the view of the links that were uploaded and drawn last, and need not be drawn again */
    this.done = { scene: /** @type {Scene | null} */ (null), colours: "", view: "" };
    this.groundBuffer = gl.createFramebuffer();
    this.groundPixels = gl.createRenderbuffer();
    this.packetCount = 0;
    this.upload("corner", new Float32Array([0, -0.5, 1, -0.5, 0, 0.5, 1, 0.5]));
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  destroy() {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
    super.destroy();
  }

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
   * Select a program. If it has the attribute corner, its other attributes have a value for each instance, not for each corner.
   *
   * @param {WebGLProgram} program
   * @param {Record<string, [buffer: string, size: number, isBytes?: boolean]>} attributes
   * @param {Record<string, number[]>} uniforms
   */
  use(program, attributes, uniforms) {
    const { gl } = this;
    gl.useProgram(program);
    for (let location = 0; location < 4; location++) gl.disableVertexAttribArray(location);
    for (const [name, values] of Object.entries(uniforms)) {
      const set = [gl.uniform1fv, gl.uniform2fv, gl.uniform3fv, gl.uniform4fv][values.length - 1];
      set.call(gl, gl.getUniformLocation(program, name), values);
    }
    for (const [name, [buffer, size, isBytes = false]] of Object.entries(attributes)) {
      const location = gl.getAttribLocation(program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[buffer]);
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, size, isBytes ? gl.UNSIGNED_BYTE : gl.FLOAT, isBytes && size === 4, 0, 0);
      gl.vertexAttribDivisor(location, "corner" in attributes && name !== "corner" ? 1 : 0);
    }
  }

  /** Upload the differences from the scene that was drawn last. @param {Scene} scene */
  prepare(scene) {
    const { drawing, theme, isFaint } = scene;
    const { a, b, x, y, shiftX, shiftY } = drawing;
    if (this.done.scene?.drawing !== drawing) {
      this.upload("places", Float32Array.from(drawing.first.flatMap((_, item) => [x[item], y[item]])));
      const ends = new Float32Array(4 * drawing.linkCount);
      a.forEach((from, link) => ends.set([x[from], y[from], x[b[link]] + shiftX[link], y[b[link]] + shiftY[link]], 4 * link));
      this.upload("ends", ends);
      this.done = { scene: null, colours: "", view: "" };
    }
    const colours = `${isFaint} ${theme.line} ${theme.trees}`;
    if (this.done.colours !== colours) {
      this.done.colours = colours;
      const tints = new Uint8Array(8 * drawing.linkCount);
      // Many links on few pixels are fainter, because they would merge into a solid patch.
      const alpha = drawing.linkCount > 4000 ? 110 : 200;
      for (let end = 0; end < 2 * drawing.linkCount; end++) {
        tints.set([...scene.baseColour(end >> 1, theme.line), alpha], 4 * end);
      }
      this.upload("tints", tints);
    }
    if (this.done.scene !== scene) {
      this.done.scene = scene;
      this.upload("fill", scene.fill);
      this.upload("marks", Uint8Array.from(drawing.first.flatMap((_, item) => [scene.ring[item], Number(drawing.isSwitch(item))])));
      this.uploadStrokes(scene);
    }
  }

  /** @param {Scene} scene */
  uploadStrokes({ drawing: { a, b, x, y }, strokes }) {
    const ends = new Float32Array(4 * strokes.length);
    const forms = new Float32Array(2 * strokes.length);
    const tints = new Uint8Array(4 * strokes.length);
    strokes.forEach(({ link, back, colour, alpha, width, shift }, at) => {
      const [from, to] = back ? [b[link], a[link]] : [a[link], b[link]];
      ends.set([x[from], y[from], x[to], y[to]], 4 * at);
      forms.set([width, shift], 2 * at);
      tints.set([...colour, alpha], 4 * at);
    });
    // Strokes with packets are the first ones, because strokes of dead and selected links are added last.
    this.packetCount = strokes.filter((stroke) => stroke.packet).length;
    this.upload("strokeEnds", ends);
    this.upload("strokeForms", forms);
    this.upload("strokeTints", tints);
  }

  /**
   * Draw all links unless they are drawn already, and copy them to the canvas.
   *
   * @param {Scene} scene @param {Record<string, number[]>} uniforms @param {number} width @param {number} height
   */
  drawGround({ drawing, theme }, uniforms, width, height) {
    const { gl, done } = this;
    const view = `${uniforms.camera} ${width} ${height} ${theme.paper} ${done.colours}`;
    if (done.view !== view) {
      done.view = view;
      const [red, green, blue] = opaque(theme.paper);
      gl.bindRenderbuffer(gl.RENDERBUFFER, this.groundPixels);
      gl.renderbufferStorage(gl.RENDERBUFFER, gl.RGBA8, width, height);
      gl.bindFramebuffer(gl.FRAMEBUFFER, this.groundBuffer);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.RENDERBUFFER, this.groundPixels);
      gl.clearColor(red, green, blue, 1);
      gl.clear(gl.COLOR_BUFFER_BIT);
      this.use(this.programs.links, { place: ["ends", 2], tint: ["tints", 4, true] }, uniforms);
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
    const { gl, host, programs } = this;
    const { width, height } = this.resize();
    this.prepare(scene);
    const { drawing, theme, strokes } = scene;
    const uniforms = {
      camera: [camera.scale, camera.x, camera.y],
      thin: [drawing.strokeScale(camera)],
      size: [host.clientWidth, host.clientHeight],
      radius: [drawing.radius(camera), devicePixelRatio],
      progress: [progress, devicePixelRatio],
      ink: opaque(theme.ink),
      warning: opaque(theme.trees[1]),
    };
    gl.viewport(0, 0, width, height);
    this.drawGround(scene, uniforms, width, height);
    /** @type {Record<string, [string, number, boolean?]>} */
    const stroke = { ends: ["strokeEnds", 4], tint: ["strokeTints", 4, true], form: ["strokeForms", 2] };
    if (strokes.length) {
      this.use(programs.strokes, { corner: ["corner", 2], ...stroke }, uniforms);
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, strokes.length);
    }
    this.use(programs.nodes, { place: ["places", 2], tint: ["fill", 4, true], form: ["marks", 2, true] }, uniforms);
    gl.drawArrays(gl.POINTS, 0, drawing.count);
    if (!this.packetCount) return;
    this.use(programs.packets, stroke, uniforms);
    gl.drawArrays(gl.POINTS, 0, this.packetCount);
  }
}
