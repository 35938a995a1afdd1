// The heaviest keys: of all rules as the stream tells, of one rule as asked for when it was chosen.
import { json } from './api.js';
import { byId, el, keyed, setAttr, setText, setVar } from './dom.js';
import { idOf } from './flags.js';
import { clock, si, whole } from './format.js';

const rows = 10;
const states = { ok: 'passes', shed: 'shed', block: 'blocked', allow: 'allowed' };

export class Top {
  constructor(explain) {
    this.explain = explain;
    this.live = [];
    this.rule = '';
    this.asked = null; // {rule, at, top}
    this.body = byId('top-table').tBodies[0];
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
    keyed(this.body, list, { key: idOf, make: (k) => this.make(k), update: (row, k) => this.update(row, k) });
    const empty = byId('top-empty');
    empty.hidden = list.length > 0;
    setText(empty, this.rule ? 'No key of this rule came near its limit.' : 'No key came near its limit: only such keys are counted one by one.');
    setText(byId('top-note'), this.rule && this.asked ? `of ${this.rule}, as of ${clock(this.asked.at)}` : 'by what they offered in their window');
  }

  // merged is what was asked for, with what the stream tells of the same keys since.
  merged() {
    const live = this.live.filter((k) => k.rule === this.rule);
    const newer = new Map(live.map((k) => [k.key, k]));
    const asked = (this.asked?.top ?? []).filter((k) => !newer.has(k.key));
    return [...live, ...asked].sort((a, b) => b.offered - a.offered);
  }

  make(k) {
    return el('tr', {},
      el('td', {}, el('button', { type: 'button', class: 'key link', text: k.key, on: { click: (e) => this.explain(e.currentTarget.closest('tr').item) } })),
      el('td', { class: 'key' }), el('td', {}, el('span', { class: 'load' })),
      el('td', { class: 'num' }), el('td', { class: 'num' }), el('td', {}, el('span', { class: 'act' })));
  }

  update(row, k) {
    row.item = k;
    const [key, rule, bar, offered, admitted, state] = row.cells;
    setAttr(key.firstChild, 'title', `${k.key}: explain`);
    setText(rule, k.rule);
    setVar(bar.firstChild, '--part', Math.min(1, k.share / 2));
    setVar(bar.firstChild, '--passed', Math.min(1, k.admitted / Math.max(1, k.limit) / 2));
    setAttr(bar.firstChild, 'data-over', k.share > 1 ? 'yes' : null);
    setText(bar.firstChild, times(k.share));
    setText(offered, si(k.offered));
    setAttr(offered, 'title', whole(k.offered));
    setText(admitted, si(k.admitted));
    setAttr(admitted, 'title', `${whole(k.admitted)} of ${whole(k.limit)}`);
    setText(state.firstChild, states[k.state] ?? k.state);
    state.firstChild.dataset.action = k.state;
  }
}

function times(share) { return share < 1.005 ? `${Math.round(share * 100)} %` : `${share < 10 ? share.toFixed(1) : si(Math.round(share))} ×`; }
