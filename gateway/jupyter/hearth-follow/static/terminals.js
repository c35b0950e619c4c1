/* A new terminal is a shell in the session of the notebook that the person
 * looked at last. The server (hearth_terminals.py) looks for it by what is
 * given as the folder; without a notebook that is the file browser's. */

export function place(manager, tracker) {
  const start = manager.startNew.bind(manager);
  manager.startNew = options => {
    const path = tracker.currentWidget?.sessionContext.session?.path;
    return start(path ? { ...options, cwd: path } : options);
  };
}
