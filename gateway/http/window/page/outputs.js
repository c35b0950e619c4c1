// What the page can show of outputs: pictures, HTML in a quiet frame, JSON,
// errors, text.
// @ts-check
import { Quiet } from "./quiet.js";
import { coloured, line, make, rendition, visible } from "./text.js";

const PICTURES = ["image/png", "image/jpeg", "image/webp", "image/gif"];
const SVG = "image/svg+xml";
const ENTRIES_MAX = 200; // of an object or a list in JSON
// Texts that are shown as they were written, with their kind.
/** @type {[string, string][]} */
const SOURCES = [["text/latex", "LaTeX"], ["text/markdown", "Markdown"]];

/**
 * Shows an image as a picture, in which no script runs and which asks no server
 * for anything.
 * @param {string} type
 * @param {BlobPart} bytes
 * @param {string} label
 * @returns {HTMLElement}
 */
function picture(type, bytes, label) {
  const image = /** @type {HTMLImageElement} */ (make("img", { alt: label }));
  const url = URL.createObjectURL(new Blob([bytes], { type }));
  image.addEventListener("load", () => URL.revokeObjectURL(url));
  image.addEventListener("error", () => {
    URL.revokeObjectURL(url);
    image.replaceWith(dim(`An output that is called ${type} is not a picture`));
  });
  image.src = url;
  return image;
}

/** @param {string} text */
function dim(text) {
  return make("p", { class: "dim" }, text);
}

/** @param {string} text */
function pre(text) {
  return make("pre", {}, ...coloured(text));
}

/**
 * @param {string} type
 * @param {string} base64
 * @param {string} label
 */
function decoded(type, base64, label) {
  try {
    return picture(type, Uint8Array.from(atob(base64.replace(/\s/g, "")),
      (one) => one.charCodeAt(0)), label);
  } catch {
    return dim(`An output that is called ${type} is not Base64`);
  }
}

/**
 * A value of JSON: a line, or entries that are made when they are opened.
 * @param {string} name
 * @param {unknown} value
 * @param {boolean} isOpen
 * @returns {HTMLElement}
 */
function json(name, value, isOpen = false) {
  const label = name && `${visible(name)}: `;
  if (typeof value !== "object" || value === null)
    return make("div", {}, label, visible(JSON.stringify(value) ?? "null"));
  const entries = Object.entries(value);
  const count = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  const summary = make("summary", {}, label + count);
  const details = /** @type {HTMLDetailsElement} */ (make("details", {}, summary));
  details.addEventListener("toggle", () => {
    if (!details.open || details.children.length > 1) return;
    details.append(...entries.slice(0, ENTRIES_MAX)
      .map(([key, entry]) => json(key, entry)));
    if (entries.length > ENTRIES_MAX)
      details.append(dim(`${entries.length - ENTRIES_MAX} more are not shown`));
  });
  details.open = isOpen;
  return details;
}

/**
 * The best that the page can show of a MIME bundle.
 * @param {Record<string, unknown>} data
 * @returns {HTMLElement}
 */
export function bundle(data) {
  /** @param {string} type */
  const text = (type) => {
    const value = data[type];
    return typeof value === "string" ? value : "";
  };
  const plain = text("text/plain");
  const label = line(plain, 200);
  for (const type of PICTURES)
    if (text(type)) return decoded(type, text(type), label);
  if (text(SVG)) return picture(SVG, text(SVG), label);
  if (text("text/html"))
    return new Quiet(text("text/html"), pre(plain)).element;
  if (data["application/json"] !== undefined)
    return make("div", { class: "json" }, json("", data["application/json"], true));
  for (const [type, kind] of SOURCES)
    if (text(type)) return make("figure", {},
      make("figcaption", { class: "dim" }, `${kind}, as it was written`),
      pre(text(type)));
  if (plain) return pre(plain);
  return dim("An output without text: "
    + Object.keys(data).map((type) => line(type, 80)).join(", "));
}

/**
 * Shows an error: the frames of cells and what went wrong. A click shows the
 * whole traceback, with the libraries' frames.
 * @param {{ename?: unknown, evalue?: unknown, traceback?: unknown}} content
 * @returns {HTMLElement}
 */
export function failure(content) {
  const all = [content.traceback ?? []].flat().map(String);
  const own = all.filter((part) =>
    /^(?:Cell|Input) In\b/.test(part.replace(rendition, "")));
  const last = `${content.ename ?? "Error"}: ${content.evalue ?? ""}`;
  const whole = make("pre", {}, ...coloured(all.join("\n")));
  if (!own.length)
    return make("div", { class: "bad" }, all.length ? whole : pre(last));
  return make("div", { class: "bad" }, pre([...own, last].join("\n")),
    make("details", {}, make("summary", {}, "Whole traceback"), whole));
}
