// What each rule counted over the last 15 minutes: what the node remembers, carried on by what the stream tells.
//
//   GET /v1/history ──load──► steps of 5 s ─┐
//   event live ──────add────► the last step ┴─► columns(name): x, offered, admitted, refused, would be refused

export const kept = 15 * 60; // seconds
const kinds = ['offered', 'admitted', 'denied', 'shadow_denied'];

export class History {
  constructor() {
    this.every = 5;
    this.forget();
  }

  forget() {
    this.points = [];
    this.rules = new Map(); // name -> {offered: […], …}, as long as points
    this.began = null; // of the step that is under way: {at, totals}
    this.recent = []; // the last few, oldest first
    this.now = new Map(); // name -> rates over recent
  }

  // load takes in the answer of /v1/history.
  load(view) {
    this.every = view.every || 5;
    this.points = [...(view.points ?? [])];
    this.rules = new Map();
    for (const rule of view.rules ?? []) {
      this.rules.set(rule.name, Object.fromEntries(kinds.map((kind) => [kind, [...(rule[kind] ?? [])]])));
    }
  }

  // add takes in the rules of an event; at is its time in unix seconds. Totals only grow, unless the node began anew.
  add(at, rules) {
    const sample = { at, totals: new Map(rules.map((r) => [r.name, r])) };
    if (this.anew(sample)) {
      this.began = null;
      this.recent = [];
    }
    this.recent = [...this.recent, sample].slice(-this.every - 1);
    this.began ??= sample;
    if (this.recent.length < 2) return;
    this.now = this.rates(this.recent[0], sample);
    if (Math.floor(at / this.every) === Math.floor(this.began.at / this.every)) return;
    this.close(at, this.rates(this.began, sample));
    this.began = sample;
  }

  // anew reports whether sample is not of the same counting as the one before.
  anew(sample) {
    const last = this.recent.at(-1);
    return last && (sample.at <= last.at || [...sample.totals].some(([name, r]) => r.offered < (last.totals.get(name)?.offered ?? 0)));
  }

  // rates returns what each rule counted a second between two moments.
  rates(from, to) {
    const seconds = to.at - from.at;
    const all = new Map();
    for (const [name, r] of to.totals) {
      const was = from.totals.get(name);
      if (was) all.set(name, Object.fromEntries(kinds.map((kind) => [kind, Math.max(0, (r[kind] ?? 0) - (was[kind] ?? 0)) / seconds])));
    }
    return all;
  }

  // close makes rates, of the step that ends at at, a point.
  close(at, rates) {
    const before = this.points.at(-1);
    if (before !== undefined && at <= before) return; // what was loaded is newer
    if (before !== undefined && at - before > 2.5 * this.every) this.push(before + this.every, new Map());
    this.push(at, rates);
    const old = this.points.findIndex((p) => p > at - kept - this.every);
    if (old > 0) this.drop(old);
  }

  push(at, rates) {
    for (const name of rates.keys()) {
      if (!this.rules.has(name)) this.rules.set(name, Object.fromEntries(kinds.map((kind) => [kind, this.points.map(() => null)])));
    }
    this.points.push(at);
    for (const [name, columns] of this.rules) {
      for (const kind of kinds) columns[kind].push(rates.get(name)?.[kind] ?? null);
    }
  }

  drop(n) {
    this.points.splice(0, n);
    for (const columns of this.rules.values()) for (const kind of kinds) columns[kind].splice(0, n);
  }

  // columns returns the series of a rule, the step under way as their last point.
  columns(name) {
    const has = this.rules.get(name);
    const now = this.now.get(name);
    const at = this.recent.at(-1)?.at;
    const tail = now && at > (this.points.at(-1) ?? 0);
    const x = tail ? [...this.points, at] : [...this.points];
    return [x, ...kinds.map((kind) => {
      const y = has ? [...has[kind]] : this.points.map(() => null);
      return tail ? [...y, now[kind]] : y;
    })];
  }

  // rate returns what a rule counts a second now, null while that is not known. A rule in shadow counts as admitted what
  // enforcement would let pass; what passed is that and what it would refuse.
  rate(name, kind) {
    const now = this.now.get(name);
    if (!now) return null;
    return kind === 'passed' ? now.admitted + now.shadow_denied : now[kind];
  }
}
