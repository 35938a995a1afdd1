// The keys with the most traffic: of all rules from the stream, of one rule as asked for when it was chosen.
import { json } from './api.js';
import { byId, el, keyed, setAttr, setText, setVar } from './dom.js';
import { idOf } from './mitigations.js';
import { amount, clock, si, whole } from './format.js';
import { nowOf } from './kinds.js';
import { Room } from './room.js';
import { clickable } from './rows.js';

const rows = 10;
const states = { ok: 'passes', full: 'all taken', shed: 'shed', block: 'blocked', allow: 'allowed' };
const low = 0.1; // multiples of the limit: where the bars begin
const leastDecades = 3; // and at least this many powers of ten further they end
const mostDecades = 7;

export class Top {
  constructor(explain) {
    this.explain = explain;
    this.live = [];
    this.rule = '';
    this.asked = null; // {rule, at, top}
    this.body = byId('top-table').tBodies[0];
    this.room = new Room(byId('top-area'));
    clickable(this.body, (k) => { if (!k.cut) explain(k); });
  }

  show(top) {
    this.live = top ?? [];
    this.draw();
  }

  // choose limits the table to one rule, "" for all.
  async choose(rule) {
    this.rule = rule;
    this.asked = null;
    this.draw();
    if (!rule) return;
    const answer = await json('GET', '/v1/top', { query: { rule, n: rows } }).catch(() => null);
    if (answer && this.rule === rule) this.asked = { at: Date.now(), top: answer.top };
    this.draw();
  }

  draw() {
    const list = (this.rule ? this.merged() : this.live).slice(0, rows);
    this.decades = decadesOf(list);
    this.scale();
    keyed(this.body, list, { key: idOf, make: (k) => this.make(k), update: (row, k) => this.update(row, k) });
    this.room.fit(list.length);
    const empty = byId('top-empty');
    empty.hidden = list.length > 0;
    setText(empty, this.rule ? 'No key of this rule came near its limit.' : 'No key came near its limit: only such keys are counted one by one.');
    const of = this.rule && this.asked ? `of ${this.rule}, as of ${clock(this.asked.at)}` : 'by cost offered in the window';
    setText(byId('top-note'), `${of}; bars on a log scale from ${low} to ${si(low * 10 ** this.decades)} times the limit`);
  }

  // scale labels the powers of ten above the bars.
  scale() {
    const host = byId('top-scale');
    keyed(host, Array.from({ length: this.decades + 1 }, (_, n) => ({ n })), {
      key: ({ n }) => n,
      make: () => el('i'),
      update: (tick, { n }) => {
        setText(tick, n === 0 ? low : si(low * 10 ** n));
        setVar(tick, '--at', n / this.decades);
      },
    });
    setVar(byId('top-table'), '--decades', this.decades);
  }

  // merged is the answer to the last request, with newer figures of the same keys from the stream.
  merged() {
    const live = this.live.filter((k) => k.rule === this.rule);
    const newer = new Map(live.map((k) => [k.key, k]));
    const asked = (this.asked?.top ?? []).filter((k) => !newer.has(k.key));
    return [...live, ...asked].sort((a, b) => b.offered - a.offered);
  }

  make() {
    return el('tr', {},
      el('td', {}, el('button', { type: 'button', class: 'key link', on: { click: (e) => this.explain(e.currentTarget.closest('tr').item) } })),
      el('td', { class: 'key' }), el('td', {}, el('span', { class: 'load' })),
      el('td', { class: 'num' }), el('td', { class: 'num' }), el('td', {}, el('span', { class: 'act' })));
  }

  update(row, k) {
    row.item = k;
    const [key, rule, bar, offered, admitted, state] = row.cells;
    setText(key.firstChild, k.cut ? `${k.key}…` : k.key);
    setAttr(key.firstChild, 'title', k.cut ? `${k.key}…: a longer key, of which this is the beginning` : `${k.key}: explain`);
    key.firstChild.disabled = Boolean(k.cut);
    setText(rule, k.rule);
    setVar(bar.firstChild, '--part', place(k.share, this.decades));
    setVar(bar.firstChild, '--passed', place(k.admitted / Math.max(1, k.limit), this.decades));
    setAttr(bar.firstChild, 'data-over', k.share > 1 ? 'yes' : null);
    setText(bar.firstChild, times(k.share));
    setText(offered, amount(k.offered));
    setAttr(offered, 'title', whole(k.offered));
    setText(admitted, k.kind === 'concurrency' ? `${si(k.admitted)} held` : k.kind === 'bucket' ? `${amount(k.admitted)} taken` : amount(k.admitted));
    setAttr(admitted, 'title', nowOf(k) || `${whole(k.admitted)} of ${whole(k.limit)}`);
    setText(state.firstChild, k.denied_by ? `denied by ${k.denied_by}` : states[k.state] ?? k.state);
    state.firstChild.dataset.action = k.state;
  }
}

// decadesOf returns how many powers of ten the bars of list need, from low on.
export function decadesOf(list) {
  const most = Math.max(...list.map((k) => k.share), 0);
  return Math.min(mostDecades, Math.max(leastDecades, Math.ceil(Math.log10(most / low) - 1e-9)));
}

// place returns where a multiple of the limit lies on the scale, from 0 to 1.
export function place(times, decades) {
  return Math.min(1, Math.max(0, Math.log10(Math.max(times, 1e-9) / low) / decades));
}

function times(share) { return share < 1.005 ? `${Math.round(share * 100)} %` : `${share < 10 ? share.toFixed(1) : si(Math.round(share))} ×`; }
