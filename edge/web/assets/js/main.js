// The dashboard: events of the stream go to the parts of the page, actions of the operator go to the listener.
//
//	Stream ──live, flag-…──► Page ──► headline, figures, health
//	                          │  └──► Rules, MitigationTable, Top, cluster, counters    once a second, while the page is seen
//	person ──────────────────►└─────► Hand, Explain ──► api
import { json } from './api.js';
import { cluster } from './cluster.js';
import { byId, options, setText } from './dom.js';
import { Explain } from './explain.js';
import { Watch } from './faults.js';
import { counters } from './counters.js';
import { Hand } from './hand.js';
import { headline } from './headline.js';
import { figures, health } from './health.js';
import { History } from './history.js';
import { wireKeys } from './keys.js';
import { limitsChanged } from './limits.js';
import { Mitigations } from './mitigations.js';
import { policies, showPolicy } from './policies.js';
import { pools } from './pools.js';
import { Rules } from './rules.js';
import { start } from './start.js';
import { Stream } from './stream.js';
import { surgeChanged } from './surge.js';
import { MitigationTable } from './table.js';
import { toast } from './toast.js';
import { wireToken } from './token.js';
import { Top } from './top.js';

class Page {
  constructor() {
    this.history = new History();
    this.mitigations = new Mitigations();
    this.watch = new Watch();
    this.view = null; // the last of the stream
    this.received = null; // when, in ms of this clock
    this.stream = { state: 'connecting' };
    this.rules = new Rules(this.history);
    this.hand = new Hand({ done: (f) => this.flag('put', f), undone: (f) => this.flag('cleared', f), changed: () => this.limits(), now: () => this.now() });
    this.explain = new Explain({ hand: (action, rule, key) => this.hand.open({ action, rule, key }), lift: (f) => this.hand.lift(f), unset: (v) => this.hand.unset(v) });
    this.table = new MitigationTable({ explain: (f) => this.open(f), lift: (f) => this.hand.lift(f), loadAll: () => this.loadAll() });
    this.top = new Top((k) => this.open(k));
    this.wire();
  }

  wire() {
    wireToken();
    wireKeys(this.hand);
    byId('open-block').addEventListener('click', () => this.hand.open({ rule: this.rule() }));
    byId('rule-filter').addEventListener('change', () => {
      this.rules.filter = this.rule();
      this.mitigations.loaded = false; // of another rule
      this.top.choose(this.rule());
      this.draw();
    });
    byId('range').addEventListener('change', () => this.past());
    document.addEventListener('visibilitychange', () => this.draw());
    addEventListener('hashchange', () => this.follow());
  }

  run() {
    this.draw();
    new Stream((name, value) => this.take(name, value), (state, detail) => this.turn(state, detail)).run();
  }

  rule() { return byId('rule-filter').value; }

  // open explains a key, and makes that the address of the page.
  open(item) {
    const { rule, key } = item;
    history.replaceState(null, '', `#explain=${encodeURIComponent(rule)},${encodeURIComponent(key)}`);
    this.explain.open(item, [...document.querySelectorAll('.mitigations tr, .top tr')].find((row) => row.item === item));
  }

  // follow shows what the address names: #rule=NAME, #policy=NAME or #explain=RULE,KEY.
  follow() {
    const [, what, name, key] = location.hash.match(/^#(rule|policy|explain)=([^,]*),?(.*)$/) ?? [];
    if (what === 'explain') this.explain.open({ rule: decode(name), key: decode(key) });
    if (what === 'policy') showPolicy(decode(name));
    if (what !== 'rule') return;
    byId('rule-filter').value = decode(name);
    byId('rule-filter').dispatchEvent(new Event('change'));
    byId('rules').scrollIntoView();
  }

  // now is the node's present, in ms: the clock of this machine may be another.
  now() { return this.view ? Date.parse(this.view.now) + performance.now() - this.received : Date.now(); }

  take(name, value) {
    switch (name) {
      case 'hello': return this.greet(value);
      case 'live': return this.live(value);
      case 'flag-set': case 'flag-changed': return this.mitigations.put(value);
      case 'flag-cleared': return this.mitigations.cleared(value);
      case 'limit-set': case 'limit-unset': case 'limit-ended': return this.limits();
      case 'surge': return surgeChanged();
      case 'lost': this.mitigations.missed = true; return undefined;
      default: return undefined;
    }
  }

  turn(state, detail) {
    this.stream = { ...this.stream, state, detail, since: this.view?.now };
    this.draw();
  }

  // greet takes in the node's name and version. A page of an older version may not know the events of a newer one.
  async greet(hello) {
    if (this.version && this.version !== hello.version && !document.querySelector('dialog[open]')) location.reload();
    this.version = hello.version;
    this.mitigations.missed = true; // changes before this stream
    this.node = hello.node;
    setText(byId('node'), hello.node);
    setText(byId('pop'), hello.pop);
    setText(byId('build'), `headgate ${hello.version}`);
    this.history.forget();
    limitsChanged();
    surgeChanged(() => this.now());
    await this.past();
  }

  // past loads the history of the chosen time range.
  async past() {
    const range = byId('range').value;
    const past = await json('GET', '/v1/history', { query: { range }, unasked: true }).catch(() => null);
    if (past && range === byId('range').value) this.history.load(past);
    this.draw();
  }

  live(view) {
    this.view = view;
    const first = !this.received;
    this.received = performance.now();
    this.stream.viewers = view.viewers;
    this.history.add(Date.parse(view.now) / 1000, view.rules);
    this.mitigations.live(view);
    this.draw();
    if (first) this.follow();
  }

  flag(what, flag) {
    this.mitigations[what](flag);
    this.table.free();
    this.explain.refresh();
  }

  limits() {
    limitsChanged();
    this.explain.refresh();
  }

  async loadAll() {
    await this.mitigations.load(this.rule(), () => this.draw()).catch((fault) => toast(`Not all mitigations were loaded: ${fault.message}`));
    this.draw();
  }

  // draw shows everything; while the page is hidden, the first lines and the title only.
  draw() {
    document.body.classList.toggle('stale', this.stream.state !== 'live' && this.view !== null);
    const { view, stream, history } = this;
    health({ stream, view, rules: view?.rules ?? [] });
    const chosen = (view?.rules ?? []).filter((r) => !this.rule() || r.name === this.rule());
    const counts = this.rule() ? ofRule(chosen[0]) : { ...this.mitigations.counts, split: true };
    const sums = figures(history, chosen, counts);
    const mark = headline({ stream, view, watch: this.watch, sums, history, rules: chosen, counts });
    if (this.node) document.title = `${mark}${this.node} · headgate`;
    if (view && !document.hidden) this.drawParts(view);
  }

  drawParts(view) {
    const names = view.rules.map((r) => r.name);
    options(byId('rule-filter'), names, 'all rules');
    this.hand.rules(names);
    this.explain.rules(names);
    this.rules.show(view.rules, Date.parse(view.now) / 1000);
    policies(view.policies, this.now(), view.tickets);
    pools(view.pools, this.now());
    this.table.show(this.mitigations, this.now(), this.rule());
    this.top.show(view.top);
    counters(view.sketches);
    start(view, this.now());
    cluster(view.cluster, this.now());
  }
}

// decode reads a part of the address; what somebody wrote by hand may be no address.
function decode(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

// ofRule counts the mitigations of one rule. The stream does not tell blocks from sheds there.
function ofRule(rule) {
  const allow = rule?.allowed ?? 0;
  return { block: 0, shed: (rule?.flags ?? 0) - allow, allow, split: false };
}

new Page().run();
