// The table of mitigations: filtered, sorted, in pages. While the pointer or the focus is in it, its rows keep their places, so
// that nothing moves away under a click.
import { byId, el, keyed, setAttr, setText, setVar } from './dom.js';
import { idOf } from './mitigations.js';
import { moment, rate, share, si, span, whole } from './format.js';
import { Pager } from './pager.js';
import { Room } from './room.js';
import { clickable } from './rows.js';
import { reasonOf, sourceOf } from './words.js';

const rowsPerPage = 10;
const rowsLast = 5000; // ms: rows that changed places every second could not be read

// orders are the values that each column sorts by; downward ones begin with the greatest.
const orders = {
  key: (f) => f.key,
  rule: (f) => f.rule,
  ratio: (f) => f.ratio,
  denied: (f) => (f.mode === 'shadow' ? 0 : f.denied_rate ?? 0),
  reason: (f) => reasonOf(f),
  source: (f) => sourceOf(f),
  left: (f) => Date.parse(f.expires),
};

const downward = ['ratio', 'denied'];

// MitigationTable shows mitigations; does has explain(m), lift(m) and loadAll().
export class MitigationTable {
  constructor(does) {
    this.does = does;
    this.mitigations = null;
    this.now = Date.now();
    this.order = { by: 'denied', down: true };
    this.places = new Map(); // by id, while the order lasts
    this.orderedAt = -Infinity;
    this.rule = '';
    this.held = null; // the ids on show, while they keep their places
    this.body = byId('mitigations-table').tBodies[0];
    this.pager = new Pager(byId('mitigations-pager'), rowsPerPage, 'mitigations', () => this.free());
    this.more = el('button', { type: 'button', class: 'plain', hidden: true, on: { click: () => does.loadAll() } });
    byId('mitigations-pager').prepend(this.more);
    this.room = new Room(byId('mitigations-area'));
    this.wire();
  }

  wire() {
    byId('mitigations-filter').addEventListener('input', () => this.restart());
    byId('mitigations-action').addEventListener('change', () => this.restart());
    for (const th of byId('mitigations-table').querySelectorAll('th[data-sort]')) {
      const sort = el('button', { type: 'button', class: 'sort', text: th.textContent, on: { click: () => this.sort(th.dataset.sort) } });
      th.replaceChildren(sort);
    }
    clickable(this.body, (m) => { if (!m.gone) this.does.explain(m); });
    this.body.addEventListener('pointerenter', () => this.hold());
    this.body.addEventListener('focusin', () => this.hold());
    this.body.addEventListener('pointerleave', () => this.leave());
    this.body.addEventListener('focusout', () => setTimeout(() => this.leave()));
  }

  hold() { this.held ??= [...this.body.rows].map((row) => row.itemId).filter(Boolean); }

  leave() {
    if (this.held && !this.body.matches(':hover') && !this.body.contains(document.activeElement)) this.free();
  }

  // free lets rows take their places again.
  free() {
    this.held = null;
    this.orderedAt = -Infinity;
    this.draw();
  }

  restart() {
    this.pager.page = 0;
    this.free();
  }

  sort(by) {
    this.order = { by, down: this.order.by === by ? !this.order.down : downward.includes(by) };
    this.free();
  }

  show(mitigations, now, rule) {
    Object.assign(this, { mitigations, now, rule });
    this.draw();
  }

  draw() {
    if (!this.mitigations) return;
    const all = this.mitigations.all(this.now);
    const list = this.sorted(all.filter((f) => this.wanted(f)));
    const rows = this.held ? this.keepPlaces(all) : this.pager.cut(list);
    keyed(this.body, rows, { key: idOf, make: (f) => this.make(f), update: (row, f) => this.update(row, f) });
    this.room.fit(rows.length);
    this.frame(list, all);
  }

  wanted(f) {
    const text = byId('mitigations-filter').value.trim().toLowerCase();
    const action = byId('mitigations-action').value;
    if (action && f.action !== action || this.rule && f.rule !== this.rule) return false;
    return !text || [f.key, f.rule, f.source, f.reason, f.node].some((v) => v?.toLowerCase().includes(text));
  }

  sorted(list) {
    const kept = performance.now() - this.orderedAt < rowsLast;
    if (kept) return list.map((f) => [this.places.get(idOf(f)) ?? Infinity, f]).sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0)).map((row) => row[1]);
    const value = orders[this.order.by];
    const sign = this.order.down ? -1 : 1;
    const less = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    const sorted = list.map((f) => [value(f), idOf(f), f])
      .sort((a, b) => sign * less(a[0], b[0]) || less(a[1], b[1])).map((row) => row[2]);
    this.places = new Map(sorted.map((f, n) => [idOf(f), n]));
    this.orderedAt = performance.now();
    return sorted;
  }

  // keepPlaces returns the rows on show as they are now; those that have gone are marked as such.
  keepPlaces(all) {
    const by = new Map(all.map((f) => [idOf(f), f]));
    const had = new Map([...this.body.rows].map((row) => [row.itemId, row.item]));
    return this.held.map((id) => by.get(id) ?? { ...had.get(id), gone: true });
  }

  make(f) {
    const button = (text, what, more) => el('button', { type: 'button', text, class: more, on: { click: (e) => what(e.currentTarget.closest('tr').item) } });
    return el('tr', {},
      el('td', {}, button(f.key, this.does.explain, 'key link')), el('td', { class: 'key' }),
      el('td', {}, el('span', { class: 'act' })), el('td', { class: 'num' }), el('td', {}), el('td', {}),
      el('td', { class: 'num' }), el('td', { class: 'num' }, button('', this.does.lift, 'small')));
  }

  update(row, f) {
    row.item = f;
    row.itemId = idOf(f);
    const [key, rule, act, denied, reason, source, left, does] = row.cells;
    setText(key.firstChild, f.key);
    setAttr(key.firstChild, 'title', `${f.key}: explain`);
    setText(rule, f.rule);
    const shadow = f.mode === 'shadow' && f.action !== 'allow';
    setText(act.firstChild, f.action === 'shed' ? `shed ${share(f.ratio)}` : f.action);
    act.firstChild.classList.toggle('would', shadow);
    setAttr(act, 'title', shadow ? 'the rule is in shadow: nothing is denied' : null);
    act.firstChild.dataset.action = f.action;
    setVar(act.firstChild, '--part', f.ratio);
    setText(denied, f.action === 'allow' ? '–' : rate(f.denied_rate ?? 0));
    setAttr(denied, 'class', shadow ? 'num would' : f.action === 'allow' ? 'num nothing' : 'num');
    setAttr(denied, 'title', shadow ? 'would be denied: the rule is in shadow' : null);
    setText(reason, shadow ? `shadow: ${reasonOf(f)}` : reasonOf(f));
    setAttr(reason, 'title', `${reason.textContent}; ${whole(f.offered)} offered in the trailing window, limit ${whole(f.limit)}`);
    setText(source, sourceOf(f).replace(/, via .*/, ''));
    setAttr(source, 'title', `${sourceOf(f)} (${f.source})${f.node ? ` at ${f.node}` : ''}, since ${moment(f.since)}`);
    setText(left, f.gone ? 'ended' : span((Date.parse(f.expires) - this.now) / 1000));
    setAttr(left, 'title', `until ${moment(f.expires)}`);
    setText(does.firstChild, f.action === 'block' ? 'Unblock' : 'Lift');
    setAttr(does.firstChild, 'aria-label', `${f.action === 'block' ? 'Unblock' : 'Lift the mitigation of'} ${f.key} under ${f.rule}`);
    does.firstChild.disabled = Boolean(f.gone);
    row.classList.toggle('gone', Boolean(f.gone));
  }

  // frame fills in the counts around the rows.
  frame(list, all) {
    const { counts, loading, loaded, missed } = this.mitigations;
    const { total } = counts;
    setText(byId('mitigations-note'), total ? `${si(counts.block)} block, ${si(counts.shed)} shed${counts.allow ? `; ${si(counts.allow)} allowed by hand` : ''}` : '');
    for (const th of byId('mitigations-table').querySelectorAll('th[data-sort]')) {
      setAttr(th, 'aria-sort', th.dataset.sort === this.order.by ? (this.order.down ? 'descending' : 'ascending') : null);
    }
    const empty = byId('mitigations-empty');
    empty.hidden = list.length > 0 || Boolean(this.held?.length);
    setText(empty, all.length || total ? 'No mitigation matches the filter.' : 'No mitigations: no key is blocked, shed or allowed by hand.');
    this.more.hidden = all.length >= total || loaded && !missed && !loading && all.length > 0.95 * total; // some come and go meanwhile
    this.more.disabled = loading;
    setText(this.more, loading ? `loading… ${si(all.length)}` : `These are ${si(all.length)} of ${si(total)}. Load all`);
  }
}
