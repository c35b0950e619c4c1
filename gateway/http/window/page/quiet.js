// HTML that a session wrote, in a quiet frame: a document of its own that is no
// part of this site, runs no script but its own, and asks no server for
// anything. Few are alive at a time, since each is a document.
// @ts-check
import { make } from "./text.js";

const ALIVE_MAX = 10;
const HEIGHT_MAX = 480; // pixels; more is scrolled inside
const HTML_MAX = 4 * 1024 * 1024; // characters
const TITLE = "HTML that the session wrote";

/** @type {Set<Quiet>} */
const alive = new Set(); // the oldest first
/** @type {Set<Quiet>} */
const waiting = new Set(); // in view, and without a frame
/** @type {WeakMap<Element, Quiet>} */
const all = new WeakMap();

const watcher = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    const quiet = /** @type {Quiet} */ (all.get(target));
    quiet.isSeen = isIntersecting;
    if (isIntersecting && !alive.has(quiet)) waiting.add(quiet);
    else waiting.delete(quiet);
  }
  arrange();
});

window.addEventListener("message", (event) => {
  for (const quiet of alive)
    if (event.source && event.source === quiet.frame?.contentWindow)
      quiet.hear(event.data);
});

/** Gives frames to those in view; those that are out of view lose theirs. */
function arrange() {
  for (const quiet of waiting) {
    if (alive.size >= ALIVE_MAX) {
      const other = [...alive].find((one) => !one.isSeen);
      if (!other) return;
      other.sleep();
    }
    waiting.delete(quiet);
    quiet.wake();
  }
}

/** An output that is HTML; without a frame it is its plain text. */
export class Quiet {
  /**
   * @param {string} html
   * @param {Node} plain what stands for it
   */
  constructor(html, plain) {
    this.html = html;
    this.isSeen = false;
    this.isEmpty = false;
    /** @type {HTMLIFrameElement | null} */
    this.frame = null;
    this.note = make("figcaption", { class: "dim" }, TITLE);
    this.plain = make("div", {}, plain);
    this.element = make("figure", { class: "quiet" }, this.note, this.plain);
    if (html.length > HTML_MAX) {
      this.note.textContent = `${TITLE}: too long to be drawn here`;
      return;
    }
    all.set(this.element, this);
    watcher.observe(this.element);
  }

  wake() {
    alive.add(this);
    const frame = /** @type {HTMLIFrameElement} */ (make("iframe", {
      sandbox: "allow-scripts", referrerpolicy: "no-referrer", title: TITLE }));
    frame.addEventListener("load", () => {
      frame.contentWindow?.postMessage(this.html, "*");
    }, { once: true });
    frame.src = "window/frame";
    frame.hidden = true;
    this.frame = frame;
    this.element.append(frame);
  }

  sleep() {
    alive.delete(this);
    if (this.frame && !this.frame.hidden)
      this.plain.style.height = `${this.frame.offsetHeight}px`;
    this.frame?.remove();
    this.frame = null;
    this.plain.hidden = false;
  }

  /**
   * Of what a frame says only its height and two facts are believed: they are
   * its own matter.
   * @param {any} said
   */
  hear(said) {
    const frame = /** @type {HTMLIFrameElement} */ (this.frame);
    const height = Number(said?.height);
    if (!(height >= 0)) return;
    this.isEmpty = said.isEmpty === true;
    this.plain.hidden = !this.isEmpty;
    frame.hidden = this.isEmpty;
    frame.style.height = `${Math.min(height + 2, HEIGHT_MAX)}px`;
    this.note.textContent = this.isEmpty
      ? `${TITLE}: nothing is left of it without scripts and foreign files`
      : said.isCut === true ? `${TITLE}: its end is not shown` : TITLE;
  }
}
