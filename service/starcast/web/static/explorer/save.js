/** Saving the visible picture in a file: SVG or PNG. */

import { SvgView, svgElement, update } from "./svg-view.js";
import { css } from "./theme.js";

/** @typedef {import("./main.js").Explorer} Explorer */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./camera.js").Camera} Camera */

/**
 * @param {Scene} scene @param {Camera} camera @param {number} progress
 * @param {number} width @param {number} height @returns {string} a document with all colours in it
 */
function svgText(scene, camera, progress, width, height) {
  const view = new SvgView(document.createElement("div"));
  view.draw(scene, camera, progress);
  const { svg } = view;
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  update(svg, { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  for (const element of svg.querySelectorAll("[tabindex]")) {
    for (const name of ["role", "tabindex", "aria-pressed", "aria-label", "class"]) element.removeAttribute(name);
  }
  svg.prepend(svgElement("rect", { width: "100%", height: "100%", fill: css(scene.theme.paper) }));
  return new XMLSerializer().serializeToString(svg);
}

/** @param {string} text @param {number} width @param {number} height @returns {Promise<Blob>} */
async function pngOf(text, width, height) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = 2 * width;
  canvas.height = 2 * height;
  canvas.getContext("2d")?.drawImage(image, 0, 0, 2 * width, 2 * height);
  URL.revokeObjectURL(image.src);
  return canvasBlob(canvas);
}

/** @param {HTMLCanvasElement} canvas @returns {Promise<Blob>} */
function canvasBlob(canvas) {
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large"))), "image/png");
  });
}

/** @param {Blob} blob @param {string} name */
function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Save the visible picture in a file. @param {Explorer} explorer @param {"svg" | "png"} kind */
export async function save(explorer, kind) {
  const { scene, camera, view, state, stage, player } = explorer;
  if (!scene) return;
  const parts = [explorer.network.data.spec, state.schedule || state.forest, state.step ? `step-${state.step}` : ""];
  const name = parts.filter(Boolean).join("-").replace(/[^A-Za-z0-9,=-]+/g, "-");
  if (kind === "png" && view && !(view instanceof SvgView)) {
    explorer.draw(); // the browser may clear a canvas after showing it, so its content is drawn again
    download(await canvasBlob(view.canvas), `${name}.png`);
    return;
  }
  const { clientWidth: width, clientHeight: height } = stage;
  const text = svgText(scene, camera, player.progress, width, height);
  const blob = kind === "svg" ? new Blob([text], { type: "image/svg+xml" }) : await pngOf(text, width, height);
  download(blob, `${name}.${kind}`);
}
