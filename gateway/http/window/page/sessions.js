// All sessions, those that are at work first. Rows stay where they are while
// the pointer is over them.
// @ts-check
import { ask } from "./access.js";
import { watch } from "./feed.js";
import { duration, line, make, memory, visible } from "./text.js";

/**
 * @typedef {{id: string, name: string, profile: string, state: string,
 *   created: string, last_activity?: string, expires_at?: string | null,
 *   execution_count?: number, memory_kib?: number, reason?: string,
 *   detail?: string, ended?: string}} Session as docs/reference/http.md has it
 */

const CLOCK_MS = 1000; // how often times are written anew
const NUMBERS = ["Cells", "Memory"];
const ORDER = ["starting", "busy", "idle", "stopping", "gone"];
/** @type {Record<string, string>} */
const COLOURS = { busy: "busy", starting: "busy", idle: "good" };

/** @type {[string, (session: Session) => string | number][]} */
const columns = [
  ["Session", (session) => session.name || session.id],
  ["State", (session) => ORDER.indexOf(session.state)],
  ["Last activity", (session) => -when(session.ended || session.last_activity)],
  ["Cells", (session) => -(session.execution_count || 0)],
  ["Memory", (session) => -(session.memory_kib || 0)],
  ["Ends", (session) => when(session.expires_at) || Infinity],
  ["Profile", (session) => session.profile],
];

/**
 * @param {string | null | undefined} time
 * @returns {number} seconds
 */
function when(time) {
  return time ? Date.parse(time) / 1000 : 0;
}

/**
 * @param {string | null | undefined} time
 * @returns {string}
 */
function ago(time) {
  return time ? `${duration(Date.now() / 1000 - when(time))} ago` : "";
}

/**
 * Writes a text if it is another one: an element that is written anew loses
 * what a person has marked in it.
 * @param {HTMLElement} element
 * @param {string} text
 */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A row, whose elements stay: only what has changed is written. */
class Row {
  /** @param {Session} session */
  constructor(session) {
    this.link = make("a", { title: session.id,
      href: `#/sessions/${encodeURIComponent(session.id)}` });
    this.state = make("span");
    this.activity = make("td");
    this.cells = make("td", { class: "number" });
    this.memory = make("td", { class: "number" });
    this.ends = make("td");
    this.profile = make("td");
    this.element = make("tr", {}, make("td", {}, this.link),
      make("td", {}, this.state), this.activity, this.cells, this.memory,
      this.ends, this.profile);
  }

  /** @param {Session} session */
  show(session) {
    const isGone = session.state === "gone";
    const left = when(session.expires_at) - Date.now() / 1000;
    write(this.link, session.name ? visible(session.name)
      : session.id.slice(0, 8));
    write(this.state, isGone
      ? `gone: ${line(session.detail || session.reason || "", 200)}`
      : session.state);
    this.state.className = COLOURS[session.state] || "dim";
    write(this.activity, ago(session.ended || session.last_activity));
    write(this.cells, String(session.execution_count || 0));
    write(this.memory, session.memory_kib ? memory(session.memory_kib) : "");
    write(this.ends, session.expires_at && !isGone ? `in ${duration(left)}` : "");
    write(this.profile, visible(session.profile));
  }
}

/** The list, which follows the gateway as long as it is shown. */
export class SessionList {
  /** @param {HTMLElement} main */
  constructor(main) {
    /** @type {Map<string, Row>} */
    this.rows = new Map();
    /** @type {Map<string, Session>} */
    this.live = new Map();
    /** @type {Session[]} */
    this.ended = []; // those that are gone, when they are shown
    this.column = 1;
    this.isHeld = false;
    this.filter = /** @type {HTMLInputElement} */ (make("input", {
      type: "search", placeholder: "name, state, profile", id: "filter" }));
    this.gone = /** @type {HTMLInputElement} */ (make("input", {
      type: "checkbox", id: "gone" }));
    this.body = make("tbody");
    this.count = make("p", { class: "more", role: "status" });
    main.replaceChildren(
      make("div", { class: "tools" },
        make("label", {}, "Find ", this.filter),
        make("label", {}, this.gone, " also those that are gone")),
      make("table", {}, make("thead", {}, this.head()), this.body),
      this.count);
    this.filter.addEventListener("input", () => this.show());
    this.gone.addEventListener("change", () => this.lookBack());
    this.body.addEventListener("pointerenter", () => { this.isHeld = true; });
    this.body.addEventListener("pointerleave", () => {
      this.isHeld = false;
      this.show();
    });
  }

  head() {
    return make("tr", {}, ...columns.map(([title], index) => {
      const button = make("button", { type: "button" }, title);
      button.addEventListener("click", () => {
        this.column = index;
        this.isHeld = false;
        this.show();
      });
      const isNumber = NUMBERS.includes(title);
      return make("th", { scope: "col", class: isNumber ? "number" : "" },
        button);
    }));
  }

  /** @param {AbortSignal} signal */
  async run(signal) {
    this.signal = signal;
    const clock = setInterval(() => {
      if (!document.hidden) this.show();
    }, CLOCK_MS);
    try {
      await watch("sessions", { begin: () => ({}),
        take: (message) => this.take(message) }, signal);
    } finally {
      clearInterval(clock);
    }
  }

  /** @param {import("./feed.js").Message} message */
  take(message) {
    if (message.snapshot) this.live.clear();
    for (const session of message.sessions) this.live.set(session.id, session);
    for (const id of message.ended) this.live.delete(id);
    this.show();
    if (message.snapshot || message.ended.length) this.lookBack();
  }

  /** Asks for those that are gone, which the feed does not have. */
  async lookBack() {
    try {
      const answer = this.gone.checked
        ? await ask("sessions?all=1", { signal: this.signal }) : null;
      /** @type {Session[]} */
      const all = answer ? await answer.json() : [];
      this.ended = all.filter((session) => session.state === "gone");
      this.show();
    } catch (error) {
      // It is asked again when the feed is back, or with the next end.
      console.warn(error);
    }
  }

  /** @param {Session} session */
  isFound(session) {
    const words = this.filter.value.toLowerCase().split(/\s+/);
    const text = [session.name, session.id, session.state, session.profile,
      session.reason].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  }

  show() {
    const key = columns[this.column][1];
    const all = [...this.live.values(), ...this.ended
      .filter((session) => !this.live.has(session.id))];
    const found = all.filter((session) => this.isFound(session));
    const places = new Map([...this.rows.keys()].map((id, at) => [id, at]));
    /** @param {Session} session */
    const place = (session) => places.get(session.id) ?? Infinity;
    if (this.isHeld)
      found.sort((one, other) => (place(one) < place(other) ? -1 : 1));
    else
      found.sort((one, other) => (key(one) < key(other) ? -1
        : key(one) > key(other) ? 1 : one.id < other.id ? -1 : 1));
    this.rows = new Map(found.map((session) => {
      const row = this.rows.get(session.id) || new Row(session);
      row.show(session);
      return [session.id, row];
    }));
    this.place();
    const hidden = all.length - found.length;
    this.count.textContent = `${found.length} `
      + (found.length === 1 ? "session" : "sessions")
      + (hidden ? `, ${hidden} not shown: they lack the words under Find` : "");
  }

  /** Moves only the rows whose place is another one: the others keep focus. */
  place() {
    const kept = new Set([...this.rows.values()].map((row) => row.element));
    for (const element of [...this.body.children])
      if (!kept.has(/** @type {HTMLElement} */ (element))) element.remove();
    let at = this.body.firstElementChild;
    for (const element of kept) {
      if (element === at) at = at.nextElementSibling;
      else this.body.insertBefore(element, at);
    }
  }
}
