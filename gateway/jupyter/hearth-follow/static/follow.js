/* A notebook of a hearth session, open in JupyterLab, follows what others run
 * in the session: their cells appear while they run, below the person's.
 *
 * What the kernel broadcasts is only the bell. What is shown comes from the
 * session's journal, by a cursor that is saved in the notebook together with
 * the cells: so nothing is missed and nothing comes twice, whether the page
 * was closed, the gateway was away, or the notebook was not saved.
 *
 * A prebuilt extension, written by hand: JupyterLab asks the container below
 * for "./extension", and shares its own modules with it. Nothing to build. */
'use strict';

(() => {
  const REST_MS = 100; // between two looks
  const TICK_MS = 3000; // a note rings no bell
  const AGAIN_MS = [1000, 3000, 10000, 30000]; // when one failed
  const PLACES_MAX = 16; // outputs of a display's id that an update changes
  const OUTPUTS = new Set(['stream', 'display_data', 'execute_result', 'error']);

  // The modules beside this file.
  const beside = new URL('.', document.currentScript.src).href;

  let shares;

  /* The module that JupyterLab itself uses. */
  async function shared(name) {
    const versions = Object.values(shares[name] ?? {});
    const found = versions.find(version => version.loaded) ?? versions[0];
    if (!found) {
      throw new Error(`JupyterLab shares no ${name}`);
    }
    return (await found.get())();
  }

  /* Text by line, however it was cut on its way. */
  async function* lines(response) {
    const reader = response.body
      .pipeThrough(new TextDecoderStream())
      .getReader();
    let rest = '';
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) {
          break;
        }
        const parts = (rest + value).split('\n');
        rest = parts.pop();
        yield* parts;
      }
    } finally {
      // A caller that stops early leaves no open connection.
      void reader.cancel().catch(() => undefined);
    }
    if (rest) {
      yield rest;
    }
  }

  /* The page's other work has its turn: it lays out a new cell for long, and
   * what a person does meanwhile is not to wait for all that come. A timer
   * would be slow in a page that is not looked at. */
  function others() {
    return new Promise(done => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        port1.close();
        done();
      };
      port2.postMessage(null);
    });
  }

  function count(value) {
    return Number.isInteger(value) && value > 0 ? value : null;
  }

  function givenUp(content, what) {
    return (
      `[${content.records ?? 0} ${what} (${content.bytes ?? 0} bytes) were ` +
      'given up to keep the journal within its bound]'
    );
  }

  /* One open notebook. */
  class Follower {
    constructor(panel, fetchEvents, warn, badge) {
      this.panel = panel;
      this.badge = badge; // marks whose the cells are
      this.fetchEvents = fetchEvents;
      this.warn = warn;
      this.own = new Set(); // requests of this page: JupyterLab shows them
      this.cells = new Map(); // request -> its cell's model
      this.displays = new Map(); // display_id -> [outputs, index] that show it
      this.base = -1; // the cursor in the notebook when `seen` was there
      this.seen = 0; // the last record that was looked at
      this.isBusy = false;
      this.isWanted = false;
      this.failures = 0;
      this.ring = this.ring.bind(this);
      this.heed = this.heed.bind(this);
      panel.context.ready.then(() => {
        const context = panel.sessionContext;
        context.iopubMessage.connect(this.ring);
        context.iopubMessage.connect(this.heed);
        context.connectionStatusChanged.connect(this.ring);
        context.kernelChanged.connect(this.ring);
        const tick = setInterval(() => {
          if (panel.isVisible && document.visibilityState === 'visible') {
            this.ring();
            this.badge();
          }
        }, TICK_MS);
        panel.disposed.connect(() => clearInterval(tick));
        this.ring();
      });
    }

    get model() {
      return this.panel.content.model;
    }

    get kernel() {
      return this.panel.sessionContext.session?.kernel;
    }

    /* The session's id, when this is its notebook and its kernel. */
    get session() {
      const own = this.model?.getMetadata('hearth');
      return own?.session && own.session === this.kernel?.id &&
        Number.isInteger(own.followed ?? own.seq)
        ? own.session
        : null;
    }

    /* JupyterLab's server could not pass on what the page sent. */
    heed(_, message) {
      const notice = message.metadata?.hearth?.notice;
      // No kernel's message: those answer one.
      if (typeof notice === 'string' && !message.parent_header?.msg_id) {
        this.warn(notice);
      }
    }

    /* There may be something new. */
    ring() {
      this.isWanted = true;
      if (!this.isBusy) {
        this.isBusy = true;
        void this.look().finally(() => {
          this.isBusy = false;
        });
      }
    }

    async look() {
      while (this.isWanted && !this.panel.isDisposed) {
        this.isWanted = false;
        try {
          await this.catchUp();
          this.failures = 0;
        } catch (error) {
          console.warn('hearth: the run cannot be followed now:', error);
          if (++this.failures > AGAIN_MS.length) {
            this.failures = 0;
            return; // until the bell rings again
          }
          this.isWanted = true;
        }
        const rest = this.failures ? AGAIN_MS[this.failures - 1] : REST_MS;
        await new Promise(done => setTimeout(done, rest));
      }
    }

    /* Reads all records after the cursor. */
    async catchUp() {
      const session = this.session;
      if (!session) {
        return;
      }
      const own = this.model.getMetadata('hearth');
      const base = own.followed ?? own.seq;
      if (base !== this.base) {
        this.base = this.seen = base; // opened, or read from the disk again
      }
      const response = await this.fetchEvents(session, this.seen);
      if (!response.ok) {
        throw new Error(`${response.status} ${response.statusText}`);
      }
      let isChanged = false;
      try {
        for await (const line of lines(response)) {
          if (this.session !== session) {
            return;
          }
          if (!line) {
            continue;
          }
          const record = JSON.parse(line);
          if (record.seq > this.seen) {
            const before = this.model.cells.length;
            isChanged = this.take(record) || isChanged;
            this.seen = record.seq;
            if (this.model.cells.length !== before) {
              await others();
            }
          }
        }
      } finally {
        if (isChanged && this.session === session) {
          this.keepCursor();
          this.badge();
        }
      }
    }

    /* Only together with cells: a run that shows nothing here does not make
     * the notebook one that is to be saved. */
    keepCursor() {
      const own = this.model.getMetadata('hearth');
      this.base = this.seen;
      this.model.setMetadata('hearth', { ...own, followed: this.seen });
    }

    /* True: the notebook is another one. */
    take(record) {
      const content = record.content ?? {};
      switch (record.kind) {
        case 'request':
          return this.onRequest(record, content);
        case 'event':
          return this.onEvent(record, content);
        case 'reply':
          return this.onReply(record, content);
        case 'gap':
          return this.onGap(record, content);
        case 'state':
          return record.msg_type === 'note' && this.onNote(record, content);
        default:
          return false;
      }
    }

    // ---- cells ----

    /* Above an empty cell at the end: there the person types. */
    get place() {
      const cells = this.model.sharedModel.cells;
      const last = cells[cells.length - 1];
      const isPrompt =
        last?.cell_type === 'code' && !last.getSource() && !last.outputs.length;
      return isPrompt ? cells.length - 1 : cells.length;
    }

    insert(record, at, type, source, notes) {
      const id = `hearth-${record.seq}`; // as an export names it
      if (this.position(cell => cell.id === id) >= 0) {
        return;
      }
      const notebook = this.panel.content;
      const isAtEnd = this.isLookingAtEnd();
      const shared = this.model.sharedModel;
      // Not the person's doing, and not the person's to undo.
      shared.transact(() => {
        shared.insertCell(at, {
          cell_type: type,
          id,
          source,
          metadata: { hearth: { seq: record.seq, asked: record.time, ...notes } }
        });
      }, false);
      if (type === 'markdown' && notebook.widgets[at]) {
        notebook.widgets[at].rendered = true;
      }
      if (isAtEnd) {
        void notebook.scrollToItem(at).catch(() => undefined);
      }
    }

    /* The person sees the end, and is not typing. */
    isLookingAtEnd() {
      const notebook = this.panel.content;
      const node = notebook.outerNode ?? notebook.node;
      return (
        notebook.mode === 'command' &&
        node.scrollTop + node.clientHeight >= node.scrollHeight - 50
      );
    }

    position(is) {
      const cells = this.model.cells;
      for (let i = cells.length - 1; i >= 0; i--) {
        if (is(cells.get(i))) {
          return i;
        }
      }
      return -1;
    }

    /* The cell of a request, also when the notebook was opened meanwhile. */
    find(request) {
      const known = this.cells.get(request);
      if (known && !known.isDisposed) {
        return known;
      }
      const at = this.position(
        cell => cell.getMetadata('hearth')?.request === request
      );
      const found = at < 0 ? null : this.model.cells.get(at);
      if (found) {
        this.cells.set(request, found);
      }
      return found;
    }

    note(cell, notes) {
      cell.setMetadata('hearth', { ...cell.getMetadata('hearth'), ...notes });
    }

    // ---- records ----

    onRequest(record, content) {
      if (record.msg_type !== 'execute_request' || content.silent) {
        return false;
      }
      // A recorded cell that a revival runs again is here already.
      if (record.metadata?.hearth?.revival === true) {
        return false;
      }
      const id = record.metadata?.cellId;
      const at = id ? this.position(cell => cell.id === id) : -1;
      const cell = at < 0 ? null : this.model.cells.get(at);
      const notes = {
        seq: record.seq,
        request: record.request,
        asked: record.time,
        who: {
          username: record.header?.username,
          client: record.header?.session,
          name: record.metadata?.hearth?.client
        },
        status: 'unanswered'
      };
      if (record.header?.session === this.kernel?.clientId) {
        this.own.add(record.request);
        if (cell) {
          this.note(cell, notes);
        }
        return cell !== null;
      }
      // Run in this notebook, and then it was not saved.
      if (cell?.type === 'code' && cell.sharedModel.getSource() === content.code) {
        cell.outputs.clear();
        this.note(cell, notes);
        this.cells.set(record.request, cell);
      } else {
        this.insert(record, this.place, 'code', content.code ?? '', notes);
      }
      const shown = this.find(record.request);
      if (shown) {
        shown.executionState = 'running';
      }
      return true;
    }

    onEvent(record, content) {
      if (record.msg_type === 'update_display_data') {
        return this.onUpdate(content);
      }
      const cell = this.own.has(record.request)
        ? null
        : this.find(record.request);
      if (cell?.type !== 'code') {
        return false;
      }
      if (record.msg_type === 'clear_output') {
        cell.outputs.clear(content.wait === true);
      } else if (OUTPUTS.has(record.msg_type)) {
        this.addOutput(cell.outputs, record.msg_type, content);
      } else {
        return false;
      }
      return true;
    }

    addOutput(outputs, type, content) {
      const { transient, ...output } = content;
      if (type === 'stream' && typeof output.text !== 'string') {
        return;
      }
      outputs.add({ ...output, output_type: type });
      const id = transient?.display_id;
      if (id) {
        const shown = this.displays.get(id) ?? [];
        shown.push([outputs, outputs.length - 1]);
        this.displays.set(id, shown.slice(-PLACES_MAX));
      }
    }

    /* JupyterLab updates those that its own requests have shown. */
    onUpdate(content) {
      const shown = this.displays.get(content.transient?.display_id) ?? [];
      let isChanged = false;
      for (const [outputs, index] of shown) {
        const before = outputs.isDisposed ? null : outputs.get(index);
        if (before) {
          outputs.set(index, {
            ...before.toJSON(),
            data: content.data ?? {},
            metadata: content.metadata ?? {}
          });
          isChanged = true;
        }
      }
      return isChanged;
    }

    onReply(record, content) {
      const cell = this.find(record.request);
      if (cell?.type !== 'code') {
        return false;
      }
      this.note(cell, { status: content.status });
      if (!this.own.has(record.request)) {
        cell.executionCount = count(content.execution_count);
        cell.executionState = 'idle';
      }
      return true;
    }

    onGap(record, content) {
      const cell = this.find(record.request);
      if (cell?.type === 'code') {
        const text = givenUp(content, 'outputs');
        cell.outputs.add({
          output_type: 'display_data',
          data: { 'text/plain': text },
          metadata: {}
        });
      } else {
        const text = givenUp(content, 'records');
        this.insert(record, this.place, 'markdown', text, { gap: true });
      }
      return true;
    }

    onNote(record, content) {
      const before = content.before
        ? this.position(
            cell => cell.getMetadata('hearth')?.request === content.before
          )
        : -1;
      const at = before < 0 ? this.place : before;
      const notes = { note: true, by: content.by };
      this.insert(record, at, 'markdown', content.text ?? '', notes);
      return true;
    }
  }

  async function makePlugin() {
    const { INotebookTracker } = await shared('@jupyterlab/notebook');
    const { ServerConnection } = await shared('@jupyterlab/services');
    const { Notification } = await shared('@jupyterlab/apputils');
    const { Widget } = await shared('@lumino/widgets');
    const badges = await import(`${beside}badges.js`);
    const endings = await import(`${beside}endings.js`);
    const terminals = await import(`${beside}terminals.js`);

    return {
      id: 'hearth-follow:plugin',
      description: 'Notebooks of hearth sessions follow what others run.',
      autoStart: true,
      requires: [INotebookTracker],
      activate: (app, tracker) => {
        const settings = app.serviceManager.serverSettings;
        const ask = (path, init = {}) =>
          ServerConnection.makeRequest(
            `${settings.baseUrl}hearth/sessions/${path}`,
            init,
            settings
          );
        const fetchEvents = (session, since) =>
          ask(`${encodeURIComponent(session)}/events?since=${since}`);
        const refresh = async () => {
          await app.serviceManager.kernels.refreshRunning();
          await app.serviceManager.sessions.refreshRunning();
        };
        const warn = text => Notification.error(text, { autoClose: false });
        const attend = panel => {
          const end = new endings.Endings(
            panel,
            ask,
            { Notification, Widget },
            refresh
          );
          new Follower(panel, fetchEvents, warn, () =>
            badges.mark(panel.content, end.person)
          );
        };
        badges.addStyle();
        endings.addStyle();
        terminals.place(app.serviceManager.terminals, tracker);
        tracker.widgetAdded.connect((_, panel) => attend(panel));
        tracker.forEach(attend);
      }
    };
  }

  window._JUPYTERLAB = window._JUPYTERLAB ?? {};
  window._JUPYTERLAB['hearth-follow'] = {
    init: scope => {
      shares = scope;
    },
    get: async name => {
      if (name !== './extension') {
        throw new Error(`hearth-follow has no ${name}`);
      }
      const plugin = await makePlugin();
      return () => ({ __esModule: true, default: plugin });
    }
  };
})();
