// The limits by hand, as /v1/limits lists them. Without any there is no section. They are asked for again when the stream says that one changed.
import { json } from './api.js';
import { byId, setText } from './dom.js';
import { amount, plural, moment } from './format.js';
import { Grid } from './grid.js';

const most = 1000; // rows
const settles = 300; // ms: a batch is one question

let grid;
let timer;

// limitsChanged asks for the list in a moment.
export function limitsChanged() {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    const page = await json('GET', '/v1/limits', { query: { n: most }, unasked: true }).catch(() => null);
    if (page) show(page.limits, page.cursor);
  }, settles);
}

function show(all, more) {
  byId('limits').hidden = !all.length;
  if (!all.length) return;
  if (!grid) {
    grid = new Grid('Limits by hand', ['Rule', 'Key', '#Limit', 'Until', 'By', 'Reason']);
    byId('limits-part').append(grid.node);
  }
  setText(byId('limits-note'), more ? `the first ${all.length}; headgate limit list has all` : plural(all.length, 'key'));
  grid.fill(all.map((l) => [l.rule, { text: l.key, kind: 'key', href: `#explain=${encodeURIComponent(l.rule)},${encodeURIComponent(l.key)}` },
    `${amount(l.limit)}${l.unit ? ` ${l.unit}` : ''}`, moment(l.expires), l.by, l.reason || '–']));
}
