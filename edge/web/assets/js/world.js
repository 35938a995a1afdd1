// How a key of all PoPs stands: what each is asked, what may pass, and the ratio that follows.
import { el, setVar } from './dom.js';
import { brief, rate, share } from './format.js';

// world returns what to show of w, the part of an explanation that is about the other PoPs; nothing for a key that is not theirs.
export function world(w) {
  if (!w) return [];
  const heard = w.age_seconds !== null && w.age_seconds !== undefined;
  const rows = demands(w, heard);
  const most = Math.max(w.limit_rate || 0, ...rows.map((r) => r.rate), 1e-9);
  return [el('section', { class: 'world' },
    el('h3', { text: 'Over all PoPs' }),
    el('p', { class: 'quiet', text: summary(w, heard) }),
    el('table', { class: 'data' },
      el('caption', { class: 'hidden', text: 'Demand by PoP' }),
      el('thead', {}, el('tr', {}, ...['PoP', 'Asked', '', 'Refused'].map((text, n) => el('th', { scope: 'col', class: n % 2 ? 'num' : null, text })))),
      el('tbody', {}, ...rows.map((r) => row(r, most)))),
    el('p', { class: 'quiet', text: seats(w) }))];
}

// demands returns a row for each PoP where they are known, else one for this PoP and one for all others.
function demands(w, heard) {
  if (w.pops?.length) {
    return w.pops.filter((p) => !p.alone || p.offered_rate > 0).map((p) => ({ name: p.alone ? `${p.pop}, alone` : p.pop, rate: p.offered_rate, ratio: p.ratio, age: p.age_seconds }));
  }
  const rows = [{ name: 'this PoP', rate: w.pop_rate, ratio: w.ratio }];
  if (heard) rows.push({ name: 'the others', rate: Math.max(0, w.offered_rate - w.pop_rate), ratio: null });
  return rows;
}

function row(r, most) {
  const bar = el('span', { class: 'meter' });
  setVar(bar, '--part', Math.min(1, r.rate / most));
  setVar(bar, '--over', r.ratio ?? 0);
  return el('tr', {},
    el('th', { scope: 'row', class: 'key', text: r.name }),
    el('td', { class: 'num', text: rate(r.rate) }),
    el('td', { class: 'wide' }, bar),
    el('td', { class: 'num', text: r.ratio === null || r.ratio === undefined ? '–' : share(r.ratio) }));
}

function summary(w, heard) {
  if (!heard) return 'Nothing was heard of the other PoPs yet: this PoP decides by what it counts itself.';
  const text = `${rate(w.offered_rate)} asked for everywhere, ${rate(w.limit_rate)} may pass`;
  return `${text}${w.shed ? '' : ': within the limit'}. Heard ${brief(w.age_seconds)} ago.`;
}

function seats(w) {
  const parts = [w.owner ? `${w.owner} adds up` : 'nobody adds up', w.standby && `${w.standby} beside it`, w.reporter && `${w.reporter} reports for this PoP`];
  if (w.alone) parts.push('this node counts without its PoP');
  const more = w.pops?.length ? '' : ' What each PoP is asked is known to the node that adds up.';
  return `${parts.filter(Boolean).join(', ')}.${more}`;
}
