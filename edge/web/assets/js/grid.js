// A table whose rows are kept from one second to the next, so that the selection and the focus stay.
import { el, keyed, setAttr, setText, setVar } from './dom.js';
import { marks } from './words.js';

// Grid is a table in a region of its own that scrolls sideways. Heads that begin with # are of numbers.
export class Grid {
  constructor(caption, heads) {
    this.body = el('tbody');
    this.numbers = heads.map((text) => text.startsWith('#'));
    const head = el('tr', {}, ...heads.map((text, n) => el('th', { scope: 'col', class: this.numbers[n] ? 'num' : null, text: text.replace('#', '') })));
    this.node = el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption },
      el('table', { class: 'data' }, el('caption', { class: 'hidden', text: caption }), el('thead', {}, head), this.body));
  }

  // fill shows rows: lists of texts, or of {text, kind, state, href, part, over}; the first cell names the row.
  fill(rows) {
    keyed(this.body, rows, {
      key: ([first]) => first.text ?? first,
      make: (cells) => el('tr', {}, ...cells.map(() => el('td', {}, el('span', { class: 'mark', 'aria-hidden': 'true' }), el('span')))),
      update: (row, cells) => cells.forEach((c, n) => this.cell(row.cells[n], typeof c === 'object' ? c : { text: c }, this.numbers[n])),
    });
  }

  // cell fills td. part, from 0 to 1, is shown as a bar before the text.
  cell(td, { text, kind, state, href, part, over }, number) {
    setAttr(td, 'class', [kind, number && 'num', state && `state ${state}`].filter(Boolean).join(' ') || null);
    setText(td.firstChild, state ? marks[state] : '');
    setAttr(td.firstChild, 'class', part === undefined ? 'mark' : 'fill');
    setAttr(td.firstChild, 'data-over', over ? 'yes' : null);
    if (part !== undefined) setVar(td.firstChild, '--part', part);
    const wanted = href ? 'A' : 'SPAN';
    if (td.lastChild.tagName !== wanted) td.lastChild.replaceWith(el(wanted.toLowerCase(), href ? { rel: 'noopener noreferrer' } : {}));
    if (href) setAttr(td.lastChild, 'href', href);
    setText(td.lastChild, text);
    setAttr(td, 'title', String(text).length > 24 ? text : null);
  }
}
