// Text that an agent or its kernel wrote is shown, never interpreted: the page
// is built of elements and text nodes alone.
// @ts-check

/**
 * Makes an element. A child is an element or a text.
 * @param {string} tag
 * @param {Record<string, string>} attributes
 * @param {...(Node | string)} children
 * @returns {HTMLElement}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// Controls, formats (also those that turn the direction of writing), private
// and unpaired ones, and the two separators; not newline and tab.
const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;

/**
 * Replaces what cannot be seen by its code, so that a text is what it looks
 * like.
 * @param {string} text
 * @returns {string}
 */
export function visible(text) {
  return text.replace(unseen, (one) => {
    if (one === "\n" || one === "\t") return one;
    const code = /** @type {number} */ (one.codePointAt(0));
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

// Select Graphic Rendition (ECMA-48, 8.3.117): colours and weights.
export const rendition = /\x1b\[([0-9;:]*)m/g;
const WEIGHTS = new Map([[1, "bold"], [3, "italic"], [4, "underline"]]);
const ENDS = new Map([[22, "bold"], [23, "italic"], [24, "underline"]]);

/**
 * The nearest of the page's eight colours, which can all be read on its ground.
 * @param {number[]} codes what follows 38 or 48, which is taken out
 * @returns {number}
 */
function nearest(codes) {
  const kind = codes.shift();
  if (kind === 5) {
    const index = codes.shift() ?? 7;
    if (index < 16) return index % 8;
    if (index > 231) return index > 243 ? 7 : 0;
    const cube = index - 16;
    return Number(Math.floor(cube / 36) > 2)
      | Number(Math.floor(cube / 6) % 6 > 2) << 1 | Number(cube % 6 > 2) << 2;
  }
  if (kind !== 2) return 7;
  const [red, green, blue] = codes.splice(0, 3);
  return Number(red > 127) | Number(green > 127) << 1 | Number(blue > 127) << 2;
}

/**
 * @param {string} text between ESC [ and m
 * @param {Set<string>} style classes, which are changed
 */
function restyle(text, style) {
  const codes = text.split(/[;:]/).map(Number);
  /** @param {number} colour */
  const paint = (colour) => {
    for (const name of [...style]) if (name.startsWith("ansi")) style.delete(name);
    if (colour >= 0) style.add(`ansi${colour}`);
  };
  while (codes.length) {
    const code = /** @type {number} */ (codes.shift());
    if (code === 0) style.clear();
    else if (code === 38) paint(nearest(codes));
    else if (code === 48) nearest(codes);
    else if (code === 39) paint(-1);
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97))
      paint(code % 10);
    style.add(WEIGHTS.get(code) ?? "");
    style.delete(ENDS.get(code) ?? "");
    style.delete("");
  }
}

/**
 * What a terminal would leave of a line that was written again after a carriage
 * return; the colours stay, which a text sets that is written over.
 * @param {string} line
 */
function overwritten(line) {
  const from = line.replace(/\r+$/, "").lastIndexOf("\r") + 1;
  const colours = line.slice(0, from).match(rendition) ?? [];
  return colours.join("") + line.slice(from).replace(/\r+$/, "");
}

/**
 * What a terminal would show of an output: text, in colours of the page's own.
 * Backgrounds are left out, so that nothing is hidden in its ground.
 * @param {string} text
 * @returns {Node[]}
 */
export function coloured(text) {
  const parts = text.replace(/\r+\n/g, "\n").split("\n").map(overwritten)
    .join("\n").split(rendition);
  /** @type {Set<string>} */
  const style = new Set();
  /** @type {Node[]} */
  const nodes = [];
  parts.forEach((part, index) => {
    if (index % 2) restyle(part, style);
    else if (part) nodes.push(style.size
      ? make("span", { class: [...style].join(" ") }, visible(part))
      : document.createTextNode(visible(part)));
  });
  return nodes;
}

/**
 * @param {string} text
 * @param {number} max
 * @returns {string} one line, cut with a word on how much is missing
 */
export function line(text, max) {
  const shown = visible(text).replace(/\s+/g, " ").trim();
  return shown.length <= max
    ? shown
    : `${shown.slice(0, max)}… +${shown.length - max} characters`;
}

/**
 * @param {number} seconds
 * @returns {string} "42 s", "3 min", "5 h", "2 d"
 */
export function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h`;
  return `${Math.floor(whole / 86400)} d`;
}

/**
 * @param {number} kib
 * @returns {string}
 */
export function memory(kib) {
  return kib < 1024 * 1024
    ? `${Math.round(kib / 1024)} MiB`
    : `${(kib / 1024 / 1024).toFixed(1)} GiB`;
}
