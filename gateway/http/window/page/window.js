// The window: shows the view that the URL names, or why it cannot.
// @ts-check
import { enter, Refused } from "./access.js";
import { onLink } from "./feed.js";
import { Notebook } from "./notebook.js";
import { SessionList } from "./sessions.js";
import { make } from "./text.js";

const RETRY_MS = 2000;
const BARRED = [401, 403];
const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const place = /** @type {HTMLElement} */ (document.getElementById("place"));
const link = /** @type {HTMLElement} */ (document.getElementById("link"));
let shown = new AbortController();
let entered = Promise.resolve(); // when there is a token, if there will be one

/**
 * @param {string} why
 * @param {boolean} isBarred the browser has to be let in first
 */
function explain(why, isBarred) {
  main.replaceChildren(make("p", {}, why));
  if (isBarred)
    main.append(make("p", {}, "Run ", make("code", {}, "hearth window"), " in a terminal "
      + "on the gateway's machine: it prints a URL that lets this browser in."));
}

/** @param {boolean} isThere */
function tellLink(isThere) {
  link.textContent = isThere ? "" : "The gateway does not answer; trying again";
}

/** @returns {{run: (signal: AbortSignal) => Promise<void>}} */
function view() {
  const session = /^#\/sessions\/([^/?]+)$/.exec(location.hash);
  if (session) return new Notebook(main, place, decodeURIComponent(session[1]));
  place.textContent = "Sessions";
  return new SessionList(main);
}

/**
 * Shows the view of the URL; a gateway that does not answer is asked again, and
 * what was shown of it stays.
 */
async function show() {
  shown.abort();
  const mine = (shown = new AbortController());
  const current = view();
  while (!mine.signal.aborted) {
    try {
      tellLink(true);
      await current.run(mine.signal);
      return;
    } catch (error) {
      if (mine.signal.aborted) return;
      if (error instanceof Refused) {
        explain(error.message, BARRED.includes(error.status));
        return;
      }
      tellLink(false);
    }
    await new Promise((resolve) => { setTimeout(resolve, RETRY_MS); });
  }
}

/**
 * Begins, and begins again when the person gives another URL. One that comes
 * while a code is traded waits for the token.
 */
async function begin() {
  try {
    entered = entered.catch(() => {}).then(enter);
    await entered;
    await show();
  } catch (error) {
    explain(error instanceof Error ? error.message : String(error), true);
  }
}

onLink(tellLink);
window.addEventListener("hashchange", begin);
await begin();
