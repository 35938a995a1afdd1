// The rules, a card each: the settings, a plot, and the figures of now or of the moment under the pointer.
import { byId, el, keyed, setAttr, setText } from './dom.js';
import { clock, plural, rate, share, si, span } from './format.js';
import { blocksOf, limitOf, settingsOf, shedsOf, takenOf } from './kinds.js';
import { Pager } from './pager.js';
import { Plot, stack } from './plot.js';

const cardsPerPage = 8;
const cardsLast = 15000; // ms: cards that changed places all the time could not be read

export class Rules {
  constructor(history) {
    this.history = history;
    this.pager = new Pager(byId('rules-pager'), cardsPerPage, 'rules', () => this.draw());
    this.state = { rules: [], end: Date.now() / 1000 };
    this.filter = '';
    this.plots = new Set();
    this.order = []; // names, where it is not that of the configuration
    this.orderedAt = -Infinity;
    byId('rules-order').addEventListener('change', () => {
      this.orderedAt = -Infinity;
      this.pager.page = 0;
      this.draw();
    });
  }

  // show takes in the rules and the present, in unix seconds.
  show(rules, end) {
    this.state = { rules, end };
    this.draw();
  }

  draw() {
    const { rules } = this.state;
    byId('rules-order-field').hidden = rules.length <= cardsPerPage;
    const quiet = (r) => !this.filter && r.offered === 0 && r.denials?.requests === 0;
    const shown = (this.filter ? rules.filter((r) => r.name === this.filter) : this.ordered(rules)).filter((r) => !quiet(r));
    this.idle(rules.filter(quiet));
    keyed(byId('cards'), this.pager.cut(shown), { key: (r) => r.name, make: () => this.make(), update: (node, r) => this.update(node, r) });
    byId('cards').querySelectorAll(':scope > p').forEach((p) => p.remove());
    if (!rules.length) byId('cards').append(el('p', { class: 'empty', text: 'No rules are in force: nothing is counted and nothing is denied.' }));
    for (const plot of this.gone()) plot.remove();
  }

  // idle names the rules that nobody has asked in one line.
  idle(rules) {
    const line = byId('rules-idle');
    line.hidden = !rules.length;
    const names = rules.map((r) => r.name).join('\n');
    if (line.dataset.names === names) return;
    line.dataset.names = names;
    line.replaceChildren('not asked since the start: ', ...rules.flatMap((r, n) => [n ? ', ' : '', link(r.name)]));
  }

  // ordered returns rules in the order that was chosen, renewed every few seconds unless the pointer is over them.
  ordered(rules) {
    const kind = byId('rules-order').value;
    if (!kind) return rules;
    const now = performance.now();
    const kept = now - this.orderedAt < cardsLast || this.orderedAt > 0 && byId('cards').matches(':hover, :focus-within');
    if (!kept || this.order.length !== rules.length) {
      this.orderedAt = now;
      this.order = rules.map((r) => r.name).sort((a, b) => (this.history.rate(b, kind) ?? 0) - (this.history.rate(a, kind) ?? 0));
    }
    const place = new Map(this.order.map((name, n) => [name, n]));
    return [...rules].sort((a, b) => (place.get(a.name) ?? Infinity) - (place.get(b.name) ?? Infinity));
  }

  // gone returns the plots whose cards are not on the page any more.
  gone() {
    const away = [...this.plots].filter((p) => !p.host.isConnected);
    away.forEach((p) => this.plots.delete(p));
    return away;
  }

  make() {
    return el('article', { class: 'card' },
      el('header', {}, el('h3', { class: 'key' }, el('a')), el('span', { class: 'badge' }), el('p', { class: 'note' })),
      el('p', { class: 'note settings' }),
      el('div', { class: 'plot', role: 'img' }),
      el('p', { class: 'over' }),
      el('dl', { class: 'readout' }, ...['offered', 'admitted', 'denied', 'share'].map((name) => el('div', {}, el('dt', { text: name }), el('dd'), el('dd', { class: 'sum' })))));
  }

  update(card, rule) {
    const host = card.querySelector('.plot');
    if (!card.plot) {
      card.plot = new Plot(host, (index) => this.hover(card, index));
      this.plots.add(card.plot);
    }
    card.rule = rule;
    setText(card.querySelector('h3 a'), rule.name);
    setAttr(card.querySelector('h3 a'), 'href', addressOf(rule.name));
    setAttr(card.querySelector('h3'), 'title', rule.name);
    setText(card.querySelector('.badge'), rule.mode === 'enforce' ? '' : rule.mode);
    setAttr(card.querySelector('.badge'), 'hidden', rule.mode === 'enforce' ? '' : null);
    setText(card.querySelector('.settings'), settings(rule));
    setAttr(card.querySelector('.settings'), 'title', settings(rule));
    card.columns = this.history.columns(rule.name);
    card.plot.draw(stack(card.columns, rule.mode === 'shadow'), this.state.end, this.history.kept);
    setText(card.querySelector('.over'), emptiness(card.columns));
    this.readout(card);
    this.sums(card);
  }

  // hover shows, in every card, the figures of the moment under the pointer.
  hover(card, index) {
    if (card.hovered === index) return;
    card.hovered = index;
    this.readout(card);
  }

  readout(card) {
    const { rule, columns, hovered } = card;
    const past = hovered !== null && hovered !== undefined && hovered < columns[0].length;
    const [offered, admitted, denied, would] = past
      ? [1, 2, 3, 4].map((n) => columns[n][hovered])
      : ['offered', 'admitted', 'denied', 'shadow_denied'].map((kind) => this.history.rate(rule.name, kind));
    const passed = admitted === null ? null : admitted + would;
    const over = rule.mode === 'shadow' ? would : denied;
    const cells = card.querySelectorAll('.readout > div');
    const put = (n, text) => setText(cells[n].children[1], text);
    put(0, rate(offered));
    put(1, rate(passed));
    setText(cells[2].firstChild, rule.mode === 'shadow' ? 'would deny' : 'denied');
    put(2, rate(over));
    put(3, offered > 0 ? share(over / offered) : '–');
    setText(card.querySelector('header .note'), past ? `at ${clock(columns[0][hovered] * 1000)}` : inForce(rule));
    setAttr(card.querySelector('.plot'), 'aria-label', `${rule.name}: ${rate(offered)} offered, ${rate(passed)} admitted, ${rate(over)} denied`);
  }

  // sums shows the totals over the time range, below the rates.
  sums({ rule, lastElementChild: readout }) {
    const sum = (kind) => this.history.sum(rule.name, kind);
    const [offered, passed, over] = [sum('offered'), sum('passed'), sum(rule.mode === 'shadow' ? 'shadow_denied' : 'denied')];
    const texts = [si(offered), si(passed), si(over), offered > 0 ? share(over / offered) : '–'];
    texts.forEach((text, n) => setText(readout.children[n].lastChild, text));
    setAttr(readout, 'title', `totals in ${span(this.history.kept)} below the rates`);
  }
}

// addressOf is the place of a rule on this page.
function addressOf(name) { return `#rule=${encodeURIComponent(name)}`; }

function link(name) { return el('a', { class: 'key', href: addressOf(name), text: name }); }

// inForce counts the keys that a rule denies, and those near its limit; or the places that are taken.
function inForce(rule) {
  if (rule.kind === 'concurrency') return takenOf(rule);
  return `${plural((rule.flags ?? 0) - (rule.allowed ?? 0), 'mitigation')} · ${si(rule.suspects ?? 0)} near limit`;
}

function settings(rule) {
  const action = rule.action === 'block' ? `blocks for ${blocksOf(rule)}` : rule.kind === 'concurrency' ? `leases of ${span(rule.lease)}` : shedsOf(rule);
  const view = rule.view === rule.scope ? '' : ` (now ${rule.view})`;
  const fair = rule.fairness ? `, fair to ${rule.fairness === 'pops' ? 'PoPs' : rule.fairness}` : '';
  return [limitOf(rule), ...settingsOf(rule), `${rule.scope}${fair}${view}`, action].join(' · ');
}

// emptiness says why a plot is empty; "" if it is not.
function emptiness([, offered]) {
  const known = offered.filter((v) => v !== null);
  if (!known.length) return 'nothing sampled yet';
  return known.every((v) => v === 0) ? 'no requests in this time' : '';
}
