// The token: got once for the code in the URL, kept as long as the tab, sent in
// a header. No cookie, since every port of the host would get one.
// @ts-check

const PLACE = "hearth.window.token";

/** The gateway refused: what it said is for the person. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** @returns {string} the token of this tab, "" if there is none */
export function token() {
  return sessionStorage.getItem(PLACE) ?? "";
}

/**
 * @param {Response} answer
 * @returns {Promise<Response>}
 */
async function check(answer) {
  if (answer.ok || answer.status === 410) return answer;
  let message = `The gateway answered ${answer.status}.`;
  try {
    message = (await answer.json()).message || message;
  } catch {
    // Not the gateway's own answer: its status has to do.
  }
  throw new Refused(answer.status, message);
}

/**
 * Asks the gateway. `path` is below /hearth/.
 * @param {string} path
 * @param {RequestInit} options
 * @returns {Promise<Response>}
 */
export async function ask(path, options = {}) {
  const headers = new Headers(options.headers);
  if (token()) headers.set("Authorization", `Bearer ${token()}`);
  return check(await fetch(path, { ...options, headers, cache: "no-store" }));
}

/**
 * Trades the code of the URL, if there is one, and takes it out of the URL.
 * @returns {Promise<void>}
 */
export async function enter() {
  const found = /^#code=([^&]+)(?:&(.*))?$/.exec(location.hash);
  if (!found) return;
  history.replaceState(null, "", `#/${found[2] || ""}`);
  const answer = await ask("window", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code: found[1] }),
  });
  sessionStorage.setItem(PLACE, (await answer.json()).token);
}
