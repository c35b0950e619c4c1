// The feed: one WebSocket of this tab, over which the views get what changes.
// It comes back by itself, and each view goes on where it was.
// @ts-check
import { Refused, token } from "./access.js";

/**
 * @typedef {Record<string, any>} Message as docs/reference/http.md, "The feed",
 *   has it
 * @typedef {{begin: () => Record<string, number>, take: (message: Message) => void,
 *   end: () => void, fail: (error: Error) => void}} Topic
 */

const RETRY_MS = 2000;
const BARRED = 1008; // the close code for a token that does not count
const PAY_AT = 65536; // bytes that were taken, then more may come

class Feed {
  constructor() {
    /** @type {Map<string, Topic>} */
    this.topics = new Map();
    this.socket = /** @type {WebSocket | null} */ (null);
    this.isIn = false; // the token was taken
    this.owed = 0; // bytes
    this.encoder = new TextEncoder();
    /** @type {(isThere: boolean) => void} */
    this.notice = () => {};
  }

  connect() {
    const url = new URL("feed", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    url.hash = "";
    const socket = (this.socket = new WebSocket(url, "v1.feed.hearth"));
    socket.addEventListener("open", () => this.say({ token: token() }));
    socket.addEventListener("message", (event) => this.hear(event.data));
    socket.addEventListener("close", (event) => this.lose(event));
  }

  /** @param {Message} message */
  say(message) {
    this.socket?.send(JSON.stringify(message));
  }

  /** @param {CloseEvent} event */
  lose(event) {
    this.socket = null;
    this.isIn = false;
    this.owed = 0;
    if (event.code === BARRED) {
      for (const topic of this.topics.values())
        topic.fail(new Refused(401, `The gateway closed the feed: ${event.reason}.`));
      this.topics.clear();
      return;
    }
    if (!this.topics.size) return;
    this.notice(false);
    setTimeout(() => {
      if (!this.socket && this.topics.size) this.connect();
    }, RETRY_MS);
  }

  /** @param {string} text */
  hear(text) {
    const message = JSON.parse(text);
    if (!this.isIn) {
      this.isIn = true;
      this.notice(true);
      for (const [name, topic] of this.topics)
        this.say({ open: name, ...topic.begin() });
      return;
    }
    const topic = this.topics.get(message.topic);
    if (message.error) {
      this.topics.delete(message.topic);
      topic?.fail(new Refused(message.status, message.error));
      return;
    }
    topic?.take(message);
    if (message.end) {
      this.topics.delete(message.topic);
      topic?.end();
    }
    this.owed += this.encoder.encode(text).length;
    if (this.owed < PAY_AT) return;
    this.say({ credit: this.owed });
    this.owed = 0;
  }

  /** @param {string} name */
  close(name) {
    if (this.topics.delete(name) && this.isIn) this.say({ close: name });
  }
}

const feed = new Feed();

/**
 * Gives `take` a topic's messages until it ends or the signal comes.
 * @param {string} name
 * @param {Pick<Topic, "begin" | "take">} view `begin` says where it goes on
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
export function watch(name, view, signal) {
  return new Promise((end, fail) => {
    if (signal.aborted) {
      end();
      return;
    }
    feed.topics.set(name, { ...view, end, fail });
    signal.addEventListener("abort", () => {
      feed.close(name);
      end();
    });
    if (feed.isIn) feed.say({ open: name, ...view.begin() });
    else if (!feed.socket) feed.connect();
  });
}

/** @param {(isThere: boolean) => void} notice when the gateway comes and goes */
export function onLink(notice) {
  feed.notice = notice;
}
