/* What a notebook's page does when the session that it shows has ended: it says
 * why and when, starts no other kernel unasked, and offers what can be done.
 * And where JupyterLab asks its server for something that is refused, the
 * refusal is shown. */

import { timeOf } from './badges.js';

const CHECK_MS = 3000; // while no kernel is connected

export function addStyle() {
  const style = document.createElement('style');
  style.textContent = `
.hearth-Ending {
  display: flex;
  align-items: center;
  gap: 8px;
  min-height: 56px;
  padding: 4px 12px;
  background: var(--jp-warn-color3);
  color: var(--jp-ui-font-color1);
  font-size: var(--jp-ui-font-size1);
}
.hearth-Ending span { flex: 1 1 auto; max-height: 48px; overflow: auto; }
.hearth-Ending button { flex: none; cursor: pointer; }
`;
  document.head.append(style);
}

/* The server's own words. */
async function words(response) {
  try {
    return (await response.json()).message || response.statusText;
  } catch {
    return response.statusText;
  }
}

export class Endings {
  /* `ask(path, init)` asks JupyterLab's server below /hearth/sessions/;
   * `tools` are JupyterLab's Widget and Notification. */
  constructor(panel, ask, tools, refresh) {
    this.panel = panel;
    this.ask = ask;
    this.tools = tools;
    this.refresh = refresh; // of what JupyterLab knows of running kernels
    this.person = null; // as whom this page's cells are recorded
    this.isObserver = false;
    this.bar = null;
    this.isBusy = false;
    this.mayConnect = true; // until there was a kernel, and behind an end
    this.watched = new WeakSet(); // kernels and sessions
    const context = panel.sessionContext;
    this.plainStart = context.startKernel.bind(context);
    panel.context.ready.then(() => this.begin());
  }

  get context() {
    return this.panel.sessionContext;
  }

  get kernel() {
    return this.context.session?.kernel;
  }

  /* The session whose notebook this is. */
  get home() {
    const own = this.panel.content.model?.getMetadata('hearth');
    return typeof own?.session === 'string' ? own.session : null;
  }

  prefer(shouldStart) {
    this.context.kernelPreference = {
      ...this.context.kernelPreference,
      shouldStart
    };
  }

  async begin() {
    const { context } = this;
    context.kernelChanged.connect(() => this.onKernel());
    context.connectionStatusChanged.connect(() => void this.check());
    const timer = setInterval(() => void this.check(), CHECK_MS);
    this.panel.disposed.connect(() => clearInterval(timer));
    this.onKernel();
    if (this.home) {
      this.prefer(false); // not before it is known what there is
    }
    await context.ready;
    await this.check();
  }

  onKernel() {
    this.showRefusals(this.context.session, ['shutdown']);
    this.showRefusals(this.kernel, ['restart', 'interrupt', 'shutdown']);
    if (this.kernel) {
      this.mayConnect = false;
      this.close();
    }
  }

  /* JupyterLab drops what these requests are refused with. */
  showRefusals(target, verbs) {
    if (!target || this.watched.has(target)) {
      return;
    }
    this.watched.add(target);
    for (const verb of verbs) {
      const plain = target[verb].bind(target);
      target[verb] = async (...given) => {
        try {
          // JupyterLab would show "restarting" for ever.
          if (verb === 'restart' && this.isObserver) {
            throw new Error('Who may only look restarts no kernel');
          }
          return await plain(...given);
        } catch (error) {
          this.tools.Notification.error(error.message, { autoClose: false });
          throw error;
        }
      };
    }
  }

  /* What is true of the session; null: not known now. */
  async look() {
    const response = await this.ask(this.home);
    if (response.status === 404) {
      return { state: 'unknown' };
    }
    if (!response.ok) {
      return null;
    }
    const found = await response.json();
    this.person = found.person;
    this.isObserver = found.observes === true;
    return found;
  }

  async check() {
    const { context, kernel } = this;
    const isFine = kernel && kernel.connectionStatus === 'connected';
    if (!this.home || this.isBusy || this.panel.isDisposed) {
      return;
    }
    if (isFine && this.person !== null) {
      return;
    }
    // Ignore another kernel, which the user has chosen.
    if (kernel && kernel.id !== this.home) {
      return;
    }
    this.isBusy = true;
    try {
      const found = await this.look();
      if (!found || this.panel.isDisposed || isFine) {
        return;
      }
      if (found.state === 'gone') {
        await this.end(found);
      } else if (found.state === 'unknown') {
        this.release();
        if (!kernel) {
          await context.startKernel();
        }
      } else if (!this.kernel && context.isReady && this.mayConnect) {
        await this.connect();
      }
    } catch (error) {
      console.warn('hearth: what became of the session is not known:', error);
    } finally {
      this.isBusy = false;
    }
  }

  async connect() {
    this.release();
    await this.context.changeKernel({ id: this.home });
    this.close();
  }

  // ---- the end ----

  async end(found) {
    if (this.bar) {
      return;
    }
    this.mayConnect = true; // when it has been revived elsewhere
    this.prefer(false);
    this.context.startKernel = async () => {
      this.show(found);
      return false; // no kernel, and no dialog
    };
    this.show(found);
    if (this.kernel) {
      await this.refresh(); // it is not there any more
    }
  }

  release() {
    this.prefer(true);
    this.context.startKernel = this.plainStart;
  }

  show(found) {
    this.close();
    const node = document.createElement('div');
    node.className = 'hearth-Ending';
    node.setAttribute('role', 'alert');
    const text = document.createElement('span');
    const when = timeOf(found.ended);
    text.textContent =
      `This session ended${when ? ` at ${when}` : ''}` +
      `${found.detail ? `: ${found.detail}` : ''}. Its variables are gone.`;
    node.append(text);
    const actions = [
      ['New session', () => this.startAnew()],
      ['Read on', () => this.close()]
    ];
    if (!this.isObserver) {
      actions.unshift(['Revive', () => this.revive(text)]);
    }
    for (const [name, act] of actions) {
      const button = document.createElement('button');
      button.className = 'jp-mod-styled';
      button.textContent = name;
      button.onclick = () => void this.act(node, text, act);
      node.append(button);
    }
    this.bar = new this.tools.Widget({ node });
    this.panel.contentHeader.addWidget(this.bar);
  }

  close() {
    this.bar?.dispose();
    this.bar = null;
  }

  async act(node, text, action) {
    const buttons = node.querySelectorAll('button');
    buttons.forEach(button => (button.disabled = true));
    this.isBusy = true;
    try {
      await action();
    } catch (error) {
      text.textContent = String(error.message ?? error);
    } finally {
      this.isBusy = false;
      buttons.forEach(button => (button.disabled = false));
    }
  }

  async startAnew() {
    const { context } = this;
    const name =
      context.kernelPreference.name || context.specsManager.specs?.default;
    this.release();
    await context.changeKernel({ name });
    this.close();
  }

  /* The recorded cells run again in a fresh kernel, under the same id. */
  async revive(text) {
    text.textContent = 'The recorded cells run again …';
    const response = await this.ask(`${this.home}/revive`, { method: 'POST' });
    if (!response.ok) {
      throw new Error(await words(response));
    }
    const { sentence } = await response.json();
    await this.connect();
    this.tools.Notification.info(sentence, { autoClose: false });
  }
}
