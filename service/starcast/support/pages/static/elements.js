/** Elements of pages: finding them, creating them, and changing their attributes. */

/** @typedef {Record<string, string | number>} Attributes */

/** @param {string} id @returns {any} the element, of the type that it has in the page */
export function byId(id) {
  return document.getElementById(id);
}

/** @param {string} tag @param {Attributes} [attributes] @param {(Node | string)[]} children @returns {HTMLElement} */
export function element(tag, attributes = {}, ...children) {
  const created = document.createElement(tag);
  update(created, attributes);
  created.append(...children);
  return created;
}

/** @param {string} tag @param {Attributes} [attributes] @param {(Node | string)[]} children @returns {SVGElement} */
export function svgElement(tag, attributes = {}, ...children) {
  const created = /** @type {SVGElement} */ (document.createElementNS("http://www.w3.org/2000/svg", tag));
  update(created, attributes);
  created.append(...children);
  return created;
}

/** Set attributes, numbers with two decimals. @param {Element} changed @param {Attributes} attributes */
export function update(changed, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    const text = typeof value === "number" ? String(Math.round(value * 100) / 100) : value;
    if (changed.getAttribute(name) !== text) changed.setAttribute(name, text);
  }
}

/** @param {number} count @param {string} noun @returns {string} such as `2 units` */
export function countOf(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** @param {number} tree the number of a tree, port or curve @returns {string} its colour in the style sheet */
export function treeColour(tree) {
  return `var(--tree-${(tree % 8) + 1})`;
}
