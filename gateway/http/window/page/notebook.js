// One session as a notebook that grows, out of its journal's records.
// @ts-check
import { Refused } from "./access.js";
import { Acts } from "./acts.js";
import { watch } from "./feed.js";
import { bundle, failure } from "./outputs.js";
import { coloured, duration, line, make, memory, visible } from "./text.js";

/**
 * @typedef {{seq: number, kind: string, time: string, msg_type: string,
 *   request: number, header: any, metadata: any, content: any}} JournalRecord
 *   as docs/reference/http.md, "Events", has it
 */

const CELLS_MAX = 300; // in the page; older ones are counted
const TEXT_MAX = 100000; // characters of a stream; its end is shown
const PLACES_MAX = 16; // outputs of a display's id that an update changes
const NEAR_PX = 80; // of the end: then new cells are scrolled into view
// What the page says of the session's states that people want to know of.
/** @type {Record<string, string>} */
const STATES = {
  restart: "A fresh kernel: the variables are gone",
  reviving: "The session is being revived",
  revived: "The session was revived",
  gone: "The session has ended",
  dropped: "Outputs of this cell were left out: too many",
  note: "Note",
  process: "A program beside the kernel begins",
  process_ended: "A program beside the kernel has ended",
};

/** A cell: its code, what came of it, and how it ended. */
class Cell {
  /**
   * @param {JournalRecord} record of its request
   * @param {Map<string, HTMLElement[]>} displays those that may be updated, by
   *   id; the newest are last
   */
  constructor(record, displays) {
    this.displays = displays;
    const asker = record.metadata?.hearth?.client || record.header.username || "";
    this.begun = Date.parse(record.time);
    this.asker = line(String(asker), 60);
    this.count = "";
    this.stream = /** @type {HTMLElement | null} */ (null);
    this.text = "";
    this.cut = 0;
    this.isWritten = true; // the stream's text is in the page
    this.mustClear = false;
    this.status = "queued";
    this.head = make("p", { class: "dim" });
    this.output = make("div", { class: "output" });
    this.element = make("article", { class: "cell running" }, this.head,
      make("pre", { class: "code" }, visible(String(record.content.code ?? ""))),
      this.output);
    this.tell();
  }

  /** @param {string} more */
  tell(more = "") {
    const seconds = (Date.now() - this.begun) / 1000;
    const state = this.status === "queued" || this.status === "running"
      ? `${this.status} ${duration(seconds)}` : this.status;
    this.head.textContent =
      [this.count && `[${this.count}]`, state, more, this.asker]
        .filter(Boolean).join(" · ");
  }

  /** @param {HTMLElement} element */
  add(element) {
    if (this.mustClear) this.clear();
    this.flush();
    this.stream = null;
    this.output.append(element);
  }

  clear() {
    this.mustClear = false;
    this.stream = null;
    this.output.replaceChildren();
  }

  /**
   * @param {string} name
   * @param {string} text
   */
  write(name, text) {
    if (this.mustClear) this.clear();
    if (!this.stream || this.stream.dataset.name !== name) {
      this.flush();
      this.stream = make("pre", { "data-name": name });
      this.text = "";
      this.cut = 0;
      this.output.append(this.stream);
    }
    this.text += text;
    const left = this.text.length - TEXT_MAX;
    if (left > TEXT_MAX / 4) {
      this.cut += left;
      this.text = this.text.slice(left);
    }
    this.isWritten = false;
  }

  /** Puts the stream into the page: once for many pieces of it. */
  flush() {
    if (this.isWritten || !this.stream) return;
    this.isWritten = true;
    this.stream.replaceChildren(
      this.cut ? `… ${this.cut} characters before this are not shown\n` : "",
      ...coloured(this.text));
  }

  /**
   * @param {string} id
   * @param {HTMLElement} shown
   */
  note(id, shown) {
    const places = this.displays.get(id) ?? [];
    places.push(shown);
    this.displays.set(id, places.slice(-PLACES_MAX));
  }

  /**
   * @param {string} id
   * @param {Record<string, unknown>} data
   */
  update(id, data) {
    const places = (this.displays.get(id) ?? [])
      .filter((place) => place.isConnected);
    this.displays.set(id, places.map((place) => {
      const shown = bundle(data);
      place.replaceWith(shown);
      return shown;
    }));
  }

  /** @param {JournalRecord} record */
  end(record) {
    const figures = record.metadata?.hearth || {};
    const content = record.content || {};
    this.status = content.status === "ok" ? "ok"
      : line(String(content.ename || content.status || "ended"), 80);
    this.element.className = content.status === "ok" ? "cell" : "cell failed";
    this.tell([
      typeof figures.duration_ms === "number" ? `${figures.duration_ms} ms` : "",
      typeof figures.rss_kib === "number" ? memory(figures.rss_kib) : "",
    ].filter(Boolean).join(" · "));
  }

  answered() {
    this.status = "running";
    this.tell();
  }

  /** @param {JournalRecord} record */
  take(record) {
    const content = record.content || {};
    if (record.msg_type === "execute_input") {
      this.count = String(content.execution_count ?? "");
      this.status = "running";
      this.begun = Date.parse(record.time);
      this.tell();
    } else if (record.msg_type === "stream") {
      this.write(String(content.name), String(content.text ?? ""));
    } else if (record.msg_type === "error") {
      this.add(failure(content));
    } else if (record.msg_type === "clear_output") {
      if (content.wait) this.mustClear = true;
      else this.clear();
    } else if (["display_data", "execute_result"].includes(record.msg_type)) {
      const shown = bundle(content.data || {});
      const id = content.transient?.display_id;
      if (id) this.note(String(id), shown);
      this.add(shown);
    } else if (record.msg_type === "update_display_data") {
      this.update(String(content.transient?.display_id), content.data || {});
    } else if (record.msg_type === "input_request") {
      this.status = "waits for input";
      this.tell();
      this.add(make("p", { class: "busy" },
        `Waits for input: ${line(String(content.prompt ?? ""), 200)}`));
    } else if (record.msg_type === "execute_reply") {
      this.end(record);
    }
  }
}

/** The view of a session. */
export class Notebook {
  /**
   * @param {HTMLElement} main
   * @param {HTMLElement} place
   * @param {string} id
   */
  constructor(main, place, id) {
    this.id = id;
    this.place = place;
    this.since = 0;
    /** @type {Record<string, any>} */
    this.session = {};
    /** @type {Map<number, Cell>} */
    this.cells = new Map();
    /** @type {Map<string, HTMLElement[]>} */
    this.displays = new Map();
    this.dropped = 0;
    this.more = make("p", { class: "more" });
    this.list = make("section", { "aria-label": "cells" });
    this.end = make("p", { class: "more", role: "status" });
    this.follows = true;
    new ResizeObserver(() => this.follow()).observe(this.list);
    place.textContent = `Session ${line(id, 60)}`;
    this.acts = new Acts(id);
    main.replaceChildren(this.acts.element, this.more, this.list, this.end,
      this.acts.runner);
  }

  /** @param {AbortSignal} signal */
  async run(signal) {
    await this.acts.learn();
    const clock = setInterval(() => this.tick(), 1000);
    window.addEventListener("scroll", () => {
      this.follows = window.innerHeight + window.scrollY
        >= document.documentElement.scrollHeight - NEAR_PX;
    }, { signal });
    const topic = `session/${this.id}`;
    const begin = () => ({ since: this.since });
    /** @param {import("./feed.js").Message} message */
    const take = (message) => this.hear(message);
    try {
      await watch(topic, { begin, take }, signal);
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 400 || !this.since)
        throw error;
      this.forget(); // another journal than before: from its beginning
      await watch(topic, { begin, take }, signal);
    } finally {
      clearInterval(clock);
    }
  }

  /** @param {import("./feed.js").Message} message */
  hear(message) {
    if (message.session) this.describe(message.session);
    if (message.state) this.describe({ ...this.session, ...message });
    for (const record of message.records ?? []) this.take(record);
    for (const cell of this.cells.values()) cell.flush();
  }

  /** @param {Record<string, any>} session */
  describe(session) {
    this.session = session;
    const name = session.name ? visible(session.name) : session.id;
    this.place.textContent = `Session ${name}`;
    this.acts.show(session.state);
    this.end.textContent = session.state === "gone"
      ? `The session is gone: ${line(session.detail || session.reason || "", 500)}`
      : "";
  }

  forget() {
    this.since = 0;
    this.dropped = 0;
    this.cells.clear();
    this.displays.clear();
    this.list.replaceChildren();
    this.more.textContent = "";
  }

  /** @param {JournalRecord} record */
  take(record) {
    this.since = record.seq;
    if (record.kind === "request" && record.msg_type === "execute_request") {
      const cell = new Cell(record, this.displays);
      this.cells.set(record.request, cell);
      this.append(cell.element);
    } else if (record.msg_type === "input_reply") {
      this.cells.get(record.content?.request)?.answered();
    } else if (record.kind === "state") {
      this.banner(record);
    } else if (record.kind === "gap") {
      this.append(make("p", { class: "banner" },
        "Here the recording has a gap: outputs were removed to save room."));
    } else {
      this.cells.get(record.request)?.take(record);
    }
  }

  /** Keeps the newest in view, unless the person has scrolled away from it. */
  follow() {
    if (this.follows)
      window.scrollTo(0, document.documentElement.scrollHeight);
  }

  /** @param {JournalRecord} record */
  banner(record) {
    if (!Object.hasOwn(STATES, record.msg_type)) return;
    const content = record.content || {};
    const why = content.detail || content.reason || content.text
      || [].concat(content.argv ?? []).join(" ");
    this.append(make("p", { class: "banner" },
      line([STATES[record.msg_type], why].filter(Boolean).join(": "), 500)));
  }

  /**
   * Adds what is newest; what is oldest leaves the page.
   * @param {HTMLElement} element
   */
  append(element) {
    this.list.append(element);
    while (this.list.children.length > CELLS_MAX) {
      this.list.firstElementChild?.remove();
      this.dropped++;
    }
    for (const request of this.cells.keys()) {
      if (this.cells.size <= CELLS_MAX) break;
      this.cells.delete(request);
    }
    if (!this.dropped) return;
    for (const [id, places] of this.displays)
      if (!places.some((place) => place.isConnected)) this.displays.delete(id);
    this.more.textContent = `${this.dropped} earlier ones are not shown here; `
      + "hearth notebook show has them.";
  }

  tick() {
    for (const cell of this.cells.values())
      if (["queued", "running"].includes(cell.status)) cell.tell();
  }
}
