/* Who ran a cell, and when, at its upper edge; those of others have a bar. */

const STYLE = `
.jp-Cell[data-hearth-who] { position: relative; }
.jp-Cell[data-hearth-who]::after {
  content: attr(data-hearth-who);
  position: absolute;
  top: -2px;
  right: 12px;
  font-size: var(--jp-ui-font-size0);
  line-height: 1;
  color: var(--jp-ui-font-color2);
  pointer-events: none;
}
.jp-Cell[data-hearth-by='other'] {
  border-left: 3px solid var(--jp-brand-color1);
}
.jp-Cell[data-hearth-by='other']::after { color: var(--jp-brand-color1); }
`;

export function addStyle() {
  const style = document.createElement('style');
  style.textContent = STYLE;
  document.head.append(style);
}

/* "17:56:25", with its day when that was another one. */
export function timeOf(iso) {
  const when = new Date(iso);
  if (Number.isNaN(when.getTime())) {
    return '';
  }
  const isToday = when.toDateString() === new Date().toDateString();
  return isToday ? when.toLocaleTimeString() : when.toLocaleString();
}

/* Returns the label for a cell's `metadata.hearth`; null if it names no person. */
function label(own, person) {
  const who = own?.who;
  const names = who
    ? [who.username, who.name ?? 'a client']
    : own?.note && own.by
      ? [own.by]
      : [];
  const known = names.filter(name => typeof name === 'string' && name);
  if (!known.length) {
    return null;
  }
  const isOwn = who?.name === 'JupyterLab' && who.username === person;
  return {
    by: isOwn ? 'self' : 'other',
    text: [...known, timeOf(own.asked)].filter(Boolean).join(' \u00b7 ')
  };
}

/* Marks the cells of a notebook. */
export function mark(notebook, person) {
  for (const { model, node } of notebook.widgets) {
    const found = model && label(model.getMetadata('hearth'), person);
    if (!found) {
      delete node.dataset.hearthWho;
      delete node.dataset.hearthBy;
    } else if (node.dataset.hearthWho !== found.text) {
      node.dataset.hearthWho = found.text;
      node.dataset.hearthBy = found.by;
    }
  }
}
