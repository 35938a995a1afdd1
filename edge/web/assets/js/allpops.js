// A key under a rule of all PoPs: the cost offered in each, its part of the limit, and the resulting ratio.
import { el, setVar } from './dom.js';
import { brief, rate, share } from './format.js';

// allPoPs returns the elements that show g, the part of an explanation about all PoPs; none for a key of another scope.
export function allPoPs(g) {
  if (!g) return [];
  const known = g.age_seconds !== null && g.age_seconds !== undefined;
  const rows = demands(g, known);
  const most = Math.max(g.limit_rate || 0, ...rows.map((r) => r.rate), 1e-9);
  return [el('section', { class: 'world' },
    el('h3', { text: 'All PoPs' }),
    el('p', { class: 'quiet', text: summary(g, known) }),
    el('table', { class: 'data' },
      el('caption', { class: 'hidden', text: 'Cost offered by PoP' }),
      el('thead', {}, el('tr', {}, ...['PoP', 'Offered', '', 'May pass', 'Denied'].map((text, n) => el('th', { scope: 'col', class: n === 1 || n > 2 ? 'num' : null, text })))),
      el('tbody', {}, ...rows.map((r) => popRow(r, most)))),
    el('p', { class: 'quiet', text: roles(g) }))];
}

// demands returns a row for each PoP where they are known, else one for this PoP and one for all others.
function demands(g, known) {
  if (g.pops?.length) {
    return g.pops.filter((p) => !p.alone || p.offered_rate > 0).map((p) => ({ name: p.alone ? `${p.pop}, nodes without ring` : p.pop, rate: p.offered_rate, may: p.share_rate, ratio: p.ratio }));
  }
  const rows = [{ name: 'this PoP', rate: g.pop_rate, may: g.share_rate, ratio: g.ratio }];
  if (known) rows.push({ name: 'the others', rate: Math.max(0, g.offered_rate - g.pop_rate), ratio: null });
  return rows;
}

function popRow(r, most) {
  const bar = el('span', { class: 'meter' });
  setVar(bar, '--part', Math.min(1, r.rate / most));
  setVar(bar, '--over', r.ratio ?? 0);
  return el('tr', {},
    el('th', { scope: 'row', class: 'key', text: r.name }),
    el('td', { class: 'num', text: rate(r.rate) }),
    el('td', { class: 'wide' }, bar),
    el('td', { class: 'num', text: r.may ? rate(r.may) : '–' }),
    el('td', { class: 'num', text: r.ratio === null || r.ratio === undefined ? '–' : share(r.ratio) }));
}

function summary(g, known) {
  if (!known) return 'No report from the other PoPs yet: this PoP decides by its own counts.';
  return `${rate(g.offered_rate)} offered in all PoPs, ${rate(g.limit_rate)} may pass${g.shed ? '' : ': within the limit'}. Received ${brief(g.age_seconds)} ago.`;
}

function roles(g) {
  const parts = [g.owner ? `${g.owner} aggregates` : 'no node aggregates', g.standby && `${g.standby} is its standby`, g.reporter && `${g.reporter} reports for this PoP`];
  if (g.alone) parts.push('this node reports for itself, without its PoP');
  const more = g.pops?.length ? '' : ' Only the node that aggregates knows the rate of each PoP.';
  return `${parts.filter(Boolean).join(', ')}.${more}`;
}
