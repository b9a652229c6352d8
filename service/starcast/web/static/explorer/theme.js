/** The colours of the page's style sheet, for renderers that do not use CSS. */

/** @typedef {[number, number, number]} Colour red, green, blue from 0 to 255 */
/**
 * @typedef {{ink: Colour, paper: Colour, muted: Colour, line: Colour, accent: Colour,
 *   faint: Colour, trees: Colour[]}} Theme
 */

/** @param {string} text such as `#0072b2` @returns {Colour} */
function parseColour(text) {
  const value = Number.parseInt(text.trim().replace("#", ""), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** @param {Element} element @returns {Theme} */
export function readTheme(element) {
  const style = getComputedStyle(element);
  const colour = (/** @type {string} */ name) => parseColour(style.getPropertyValue(`--${name}`));
  return {
    faint: mix(colour("line"), colour("muted"), 0.65), // contrast 3, the minimum of WCAG for graphics
    ink: colour("ink"),
    paper: colour("paper"),
    muted: colour("muted"),
    line: colour("line"),
    accent: colour("accent"),
    trees: Array.from({ length: 8 }, (_, index) => colour(`tree-${index + 1}`)),
  };
}

/** @param {Colour} from @param {Colour} to @param {number} share @returns {Colour} */
export function mix(from, to, share) {
  const blend = (/** @type {number} */ index) => Math.round(from[index] + (to[index] - from[index]) * share);
  return [blend(0), blend(1), blend(2)];
}

/** @param {Colour} colour @returns {string} */
export function css(colour) {
  return `#${colour.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** @param {Colour} ground @returns {string} white or black, whichever has the higher contrast, which is at least 4.5 */
export function readableOn(ground) {
  const [red, green, blue] = ground.map((part) => ((part / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.179 ? "#ffffff" : "#000000";
}
