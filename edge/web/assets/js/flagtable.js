// The table of flags: filtered, sorted, in pages. While somebody points at it or is in it by keyboard its rows keep their places,
// so that nothing moves away under a click.
import { byId, el, keyed, setAttr, setText, setVar } from './dom.js';
import { idOf } from './flags.js';
import { moment, share, si, span, whole } from './format.js';
import { Pager } from './pager.js';
import { wordOf, reasonOf } from './words.js';

const perPage = 10;

// orders are what each column sorts by; of downward ones one wants to see the greatest first.
const orders = {
  key: (f) => f.key,
  rule: (f) => f.rule,
  ratio: (f) => f.ratio,
  load: (f) => f.offered / Math.max(1, f.limit),
  why: (f) => reasonOf(f),
  source: (f) => f.source,
  left: (f) => Date.parse(f.expires),
};

const downward = ['ratio', 'load'];

// FlagTable shows flags; does has explain(flag), lift(flag) and loadAll().
export class FlagTable {
  constructor(does) {
    this.does = does;
    this.flags = null;
    this.now = Date.now();
    this.order = { by: 'ratio', down: true };
    this.rule = '';
    this.held = null; // the ids on show, while they keep their places
    this.body = byId('flags-table').tBodies[0];
    this.pager = new Pager(byId('flags-pager'), perPage, 'flags', () => this.free());
    this.more = el('button', { type: 'button', class: 'plain', hidden: true, on: { click: () => does.loadAll() } });
    byId('flags-pager').prepend(this.more);
    this.wire();
  }

  wire() {
    byId('flags-filter').addEventListener('input', () => this.restart());
    byId('flags-action').addEventListener('change', () => this.restart());
    for (const th of byId('flags-table').querySelectorAll('th[data-sort]')) {
      const sort = el('button', { type: 'button', class: 'sort', text: th.textContent, on: { click: () => this.sort(th.dataset.sort) } });
      th.replaceChildren(sort);
    }
    this.body.addEventListener('pointerenter', () => this.hold());
    this.body.addEventListener('focusin', () => this.hold());
    this.body.addEventListener('pointerleave', () => this.leave());
    this.body.addEventListener('focusout', () => setTimeout(() => this.leave()));
  }

  hold() { this.held ??= [...this.body.rows].map((row) => row.flagId); }

  leave() {
    if (this.held && !this.body.matches(':hover') && !this.body.contains(document.activeElement)) this.free();
  }

  // free lets rows take their places again.
  free() {
    this.held = null;
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

  show(flags, now, rule) {
    Object.assign(this, { flags, now, rule });
    this.draw();
  }

  draw() {
    if (!this.flags) return;
    const all = this.flags.all(this.now);
    const list = this.sorted(all.filter((f) => this.wanted(f)));
    const rows = this.held ? this.keepPlaces(all) : this.pager.cut(list);
    keyed(this.body, rows, { key: idOf, make: (f) => this.make(f), update: (row, f) => this.update(row, f) });
    this.frame(list, all);
  }

  wanted(f) {
    const text = byId('flags-filter').value.trim().toLowerCase();
    const action = byId('flags-action').value;
    if (action && f.action !== action || this.rule && f.rule !== this.rule) return false;
    return !text || [f.key, f.rule, f.source, f.reason, f.node].some((v) => v?.toLowerCase().includes(text));
  }

  sorted(list) {
    const value = orders[this.order.by];
    const sign = this.order.down ? -1 : 1;
    const less = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    return list.map((f) => [value(f), idOf(f), f])
      .sort((a, b) => sign * less(a[0], b[0]) || less(a[1], b[1])).map((row) => row[2]);
  }

  // keepPlaces returns the rows on show as they are now; those that have gone are marked as such.
  keepPlaces(all) {
    const by = new Map(all.map((f) => [idOf(f), f]));
    const had = new Map([...this.body.rows].map((row) => [row.flagId, row.flag]));
    return this.held.map((id) => by.get(id) ?? { ...had.get(id), gone: true });
  }

  make(f) {
    const button = (text, what, more) => el('button', { type: 'button', text, class: more, on: { click: (e) => what(e.currentTarget.closest('tr').flag) } });
    return el('tr', {},
      el('td', {}, button(f.key, this.does.explain, 'key link')), el('td', { class: 'key' }),
      el('td', {}, el('span', { class: 'act' })), el('td', { class: 'num' }), el('td', {}), el('td', {}),
      el('td', { class: 'num' }), el('td', { class: 'num' }, button('', this.does.lift, 'small')));
  }

  update(row, f) {
    row.flag = f;
    row.flagId = idOf(f);
    const [key, rule, act, load, why, word, left, does] = row.cells;
    setText(key.firstChild, f.key);
    setAttr(key.firstChild, 'title', `${f.key}: explain`);
    setText(rule, f.rule);
    setText(act.firstChild, refuses(f));
    act.firstChild.dataset.action = f.action;
    setVar(act.firstChild, '--part', f.ratio);
    setText(load, `${si(f.offered)} / ${si(f.limit)}`);
    setAttr(load, 'title', `${whole(f.offered)} offered in the trailing window, limit ${whole(f.limit)}`);
    setText(why, reasonOf(f));
    setAttr(why, 'title', reasonOf(f));
    setText(word, wordOf(f));
    setAttr(word, 'title', `${f.source}${f.node ? ` at ${f.node}` : ''}, since ${moment(f.since)}`);
    setText(left, f.gone ? 'ended' : span((Date.parse(f.expires) - this.now) / 1000));
    setAttr(left, 'title', `until ${moment(f.expires)}`);
    setText(does.firstChild, f.action === 'block' ? 'Unblock' : 'Lift');
    setAttr(does.firstChild, 'aria-label', `${f.action === 'block' ? 'Unblock' : 'Lift the flag of'} ${f.key} under ${f.rule}`);
    does.firstChild.disabled = Boolean(f.gone);
    row.classList.toggle('gone', Boolean(f.gone));
  }

  // frame says what the rows are a part of.
  frame(list, all) {
    const { counts, loading, loaded, missed } = this.flags;
    const { total } = counts;
    setText(byId('flags-note'), total ? `${si(counts.block)} block, ${si(counts.shed)} shed, ${si(counts.allow)} allow` : '');
    for (const th of byId('flags-table').querySelectorAll('th[data-sort]')) {
      setAttr(th, 'aria-sort', th.dataset.sort === this.order.by ? (this.order.down ? 'descending' : 'ascending') : null);
    }
    const empty = byId('flags-empty');
    empty.hidden = list.length > 0 || Boolean(this.held?.length);
    setText(empty, all.length || total ? 'No flag fits the filter.' : 'No flags: nobody is being refused, and nobody is allowed by hand.');
    this.more.hidden = all.length >= total || loaded && !missed && !loading && all.length > 0.95 * total; // some come and go meanwhile
    this.more.disabled = loading;
    setText(this.more, loading ? `loading… ${si(all.length)}` : `These are ${si(all.length)} of ${si(total)}. Load all`);
  }
}

function refuses(f) {
  if (f.action === 'allow') return 'nothing';
  const text = f.action === 'block' ? 'all' : share(f.ratio);
  return f.mode === 'shadow' ? `${text} (shadow)` : text;
}
