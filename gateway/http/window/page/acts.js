// What a person may do with a session, as far as the page's token permits:
// buttons, a question before what cannot be undone, and what came of it.
// @ts-check
import { ask, Refused } from "./access.js";
import { make } from "./text.js";

/** @type {Record<string, string>} */
const OUTCOMES = {
  idle: "Nothing was running. The variables are kept.",
  interrupted: "Interrupted. The variables are kept.",
  handling: "The cell's code has got the interrupt and still runs. The "
    + "variables are kept. Interrupt again, or wait.",
  running: "The cell still runs, and its Python code has not got the interrupt "
    + "yet. The variables are kept; Restart would end the cell and lose them.",
};
const MARGIN_MS = 60000; // in which a browser has taken a file over

/**
 * @param {string} label
 * @param {() => void} act
 * @returns {HTMLButtonElement}
 */
function button(label, act) {
  const made = /** @type {HTMLButtonElement} */ (
    make("button", { type: "button" }, label));
  made.addEventListener("click", act);
  return made;
}

/**
 * Asks inside the page; Escape and the first button mean no.
 * @param {string} question
 * @param {string} yes
 * @returns {Promise<boolean>}
 */
function confirmed(question, yes) {
  const dialog = /** @type {HTMLDialogElement} */ (make("dialog", {},
    make("p", {}, question)));
  dialog.append(button("Cancel", () => dialog.close()), " ",
    button(yes, () => dialog.close(yes)));
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === yes);
    });
  });
}

/** The buttons of one session. */
export class Acts {
  /**
   * @param {string} id
   * @param {AbortSignal | undefined} signal
   */
  constructor(id, signal = undefined) {
    this.id = id;
    this.signal = signal;
    this.mayExecute = false;
    this.kernel = `../api/kernels/${encodeURIComponent(id)}`;
    this.session = `sessions/${encodeURIComponent(id)}`;
    this.said = make("p", { role: "status", id: "said" });
    this.command = make("code", { tabindex: "0" }, `hearth lab ${id}`);
    this.live = make("span", { class: "tools" },
      button("Interrupt", () => this.interrupt()),
      button("Restart", () => this.restart()));
    this.revival = button("Revive", () => this.revive());
    this.ending = make("span", { class: "apart" },
      button("End", () => this.end()));
    this.code = /** @type {HTMLTextAreaElement} */ (make("textarea", {
      rows: "3", "aria-label": "Code", spellcheck: "false",
      placeholder: "Code to run in this session; Shift+Enter runs it" }));
    this.runner = make("div", { class: "runner" }, this.code,
      button("Run", () => this.run()));
    this.code.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.shiftKey || event.ctrlKey)) return;
      event.preventDefault();
      this.run();
    });
    this.element = make("div", {}, make("div", { class: "tools" }, this.live,
      this.revival, button("Download notebook", () => this.download()),
      button("Save as one HTML file", () => this.savePage()),
      make("details", {}, make("summary", {}, "Open in JupyterLab"),
        "In a terminal on the gateway's machine: ", this.command),
      this.ending), this.said);
    this.show("");
  }

  /** Learns what the page's token permits. */
  async learn() {
    const answer = await ask("../api/me", { signal: this.signal });
    this.mayExecute = (await answer.json()).scopes.includes("execute");
  }

  /** @param {string} state of the session */
  show(state) {
    const isLive = Boolean(state) && state !== "gone";
    this.live.hidden = this.ending.hidden = !this.mayExecute || !isLive;
    this.runner.hidden = this.live.hidden;
    this.revival.hidden = !this.mayExecute || state !== "gone";
  }

  /**
   * Asks the gateway, and says what is going on and what came of it.
   * @param {string} doing
   * @param {string} path
   * @param {RequestInit} options
   * @returns {Promise<Response | null>} null: it was refused
   */
  async ask(doing, path, options = {}) {
    this.said.textContent = `${doing} …`;
    try {
      const answer = await ask(path, options);
      if (answer.ok) return answer;
      this.said.textContent = "The session is gone.";
    } catch (error) {
      this.said.textContent = error instanceof Refused ? error.message
        : "The gateway does not answer.";
    }
    return null;
  }

  async interrupt() {
    const answer = await this.ask("Interrupting", `${this.session}/interrupt`,
      { method: "POST" });
    if (!answer) return;
    const { outcome, variables } = await answer.json();
    this.said.textContent = OUTCOMES[outcome]
      ?? `The cell is ${outcome}. The variables are ${variables}.`;
  }

  async restart() {
    if (!await confirmed("Restart gives the session a fresh kernel. Its "
      + "variables are lost.", "Restart")) return;
    if (await this.ask("Restarting", `${this.kernel}/restart`,
      { method: "POST" }))
      this.said.textContent = "Restarted. The variables are lost.";
  }

  async end() {
    if (!await confirmed("End the session? Its variables are lost; its "
      + "notebook stays.", "End")) return;
    if (await this.ask("Ending", this.kernel, { method: "DELETE" }))
      this.said.textContent = "Ended. The notebook stays.";
  }

  async revive() {
    if (!await confirmed("Revive gives the session a fresh kernel, without its "
      + "variables. To run its cells again, use instead, in a terminal: "
      + `hearth session revive ${this.id}`, "Revive")) return;
    if (!await this.ask("Reviving", `${this.session}/revive`,
      { method: "POST" })) return;
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  }

  async run() {
    const code = this.code.value;
    if (!code.trim()) return;
    if (!await this.ask("Sending", `${this.kernel}/execute`, {
      method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ code, allow_stdin: false }) })) return;
    this.said.textContent = "Sent.";
    if (this.code.value === code) this.code.value = "";
  }

  /** The recorded notebook. */
  async download() {
    const name = `${this.id}.ipynb`;
    await this.save(name, `../files/recordings/${encodeURIComponent(name)}`,
      "The notebook");
  }

  /** A page of it that opens from disk, and in which nothing acts. */
  async savePage() {
    await this.save(`${this.id}.html`, `${this.session}/page`, "The page");
  }

  /**
   * @param {string} name of the file
   * @param {string} path
   * @param {string} what
   */
  async save(name, path, what) {
    const answer = await this.ask("Fetching", path);
    if (!answer) return;
    const url = URL.createObjectURL(await answer.blob());
    make("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), MARGIN_MS);
    this.said.textContent = `${what} is ${name}.`;
  }
}
