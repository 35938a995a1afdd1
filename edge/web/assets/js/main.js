// The dashboard: what the stream tells goes to the parts of the page, what the person does goes to the listener.
//
//	Stream ──live, flag-…──► Page ──► headline, figures, health
//	                          │  └──► Rules, FlagTable, Top, cluster, sketches    once a second, while the page is seen
//	person ──────────────────►└─────► Hand, Explain ──► api
import { json } from './api.js';
import { cluster } from './cluster.js';
import { byId, options, setText } from './dom.js';
import { Explain } from './explain.js';
import { Flags } from './flags.js';
import { FlagTable } from './flagtable.js';
import { Hand } from './hand.js';
import { headline } from './headline.js';
import { figures, health } from './health.js';
import { History } from './history.js';
import { wireKeys } from './keys.js';
import { Rules } from './rules.js';
import { sketches } from './sketch.js';
import { Stream } from './stream.js';
import { toast } from './toast.js';
import { wireToken } from './token.js';
import { Top } from './top.js';

class Page {
  constructor() {
    this.history = new History();
    this.flags = new Flags();
    this.view = null; // the last of the stream
    this.heard = null; // when, in ms of this clock
    this.stream = { state: 'connecting' };
    this.rules = new Rules(this.history);
    this.hand = new Hand({ done: (f) => this.flag('put', f), undone: (f) => this.flag('cleared', f), now: () => this.now() });
    this.explain = new Explain({ hand: (action, rule, key) => this.hand.open({ action, rule, key }), lift: (f) => this.hand.lift(f) });
    this.table = new FlagTable({ explain: (f) => this.explain.open(f), lift: (f) => this.hand.lift(f), loadAll: () => this.loadAll() });
    this.top = new Top((k) => this.explain.open(k));
    this.wire();
  }

  wire() {
    wireToken();
    wireKeys(this.hand);
    byId('open-block').addEventListener('click', () => this.hand.open({ rule: this.rule() }));
    byId('rule-filter').addEventListener('change', () => {
      this.rules.filter = this.rule();
      this.flags.loaded = false; // of another rule
      this.top.choose(this.rule());
      this.draw();
    });
    document.addEventListener('visibilitychange', () => this.draw());
  }

  run() {
    this.draw();
    new Stream((name, value) => this.take(name, value), (state, detail) => this.turn(state, detail)).run();
  }

  rule() { return byId('rule-filter').value; }

  // now is the node's present, in ms: the clock of this machine may be another.
  now() { return this.view ? Date.parse(this.view.now) + performance.now() - this.heard : Date.now(); }

  take(name, value) {
    switch (name) {
      case 'hello': return this.greet(value);
      case 'live': return this.live(value);
      case 'flag-set': case 'flag-changed': return this.flags.put(value);
      case 'flag-cleared': return this.flags.cleared(value);
      case 'lost': this.flags.missed = true; return undefined;
      default: return undefined;
    }
  }

  turn(state, detail) {
    this.stream = { ...this.stream, state, detail, heard: this.view?.now };
    this.draw();
  }

  // greet takes in whose stream it is. A page that an older version served may not know what a newer one tells.
  async greet(hello) {
    if (this.version && this.version !== hello.version && !document.querySelector('dialog[open]')) location.reload();
    this.version = hello.version;
    this.flags.missed = true; // whatever happened before
    this.node = hello.node;
    setText(byId('node'), hello.node);
    setText(byId('pop'), hello.pop);
    setText(byId('build'), `headgate ${hello.version}`);
    this.history.forget();
    const past = await json('GET', '/v1/history', { unasked: true }).catch(() => null);
    if (past) this.history.load(past);
    this.draw();
  }

  live(view) {
    this.view = view;
    this.heard = performance.now();
    this.stream.viewers = view.viewers;
    this.history.add(Date.parse(view.now) / 1000, view.rules);
    this.flags.live(view);
    this.draw();
  }

  flag(what, flag) {
    this.flags[what](flag);
    this.table.free();
    this.explain.refresh();
  }

  async loadAll() {
    await this.flags.load(this.rule(), () => this.draw()).catch((fault) => toast(`Not all flags were loaded: ${fault.message}`));
    this.draw();
  }

  // draw shows all there is; while nobody looks, the title alone.
  draw() {
    document.body.classList.toggle('stale', this.stream.state !== 'live' && this.view !== null);
    const { view, stream, history } = this;
    health({ stream, view, rules: view?.rules ?? [] });
    const chosen = (view?.rules ?? []).filter((r) => !this.rule() || r.name === this.rule());
    const flags = this.rule() ? { total: chosen[0]?.flags ?? 0 } : this.flags.counts;
    const sums = figures(history, chosen, flags.total);
    const mark = headline({ stream, degraded: view?.degraded ?? [], sums, history, rules: chosen, flags });
    if (this.node) document.title = `${mark}${this.node} · headgate`;
    if (view && !document.hidden) this.drawParts(view);
  }

  drawParts(view) {
    const names = view.rules.map((r) => r.name);
    options(byId('rule-filter'), names, 'all rules');
    this.hand.rules(names);
    this.explain.rules(names);
    this.rules.show(view.rules, Date.parse(view.now) / 1000);
    this.table.show(this.flags, this.now(), this.rule());
    this.top.show(view.top);
    sketches(view.sketches);
    cluster(view.cluster, this.now());
  }
}

new Page().run();
