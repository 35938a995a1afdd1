// The counts of each rule over a time range: the history of the node, continued by the stream.
//
//   GET /v1/history ──load──► closed steps ─┐
//   event live ──────add────► the last step ┴─► columns(name): x, offered, admitted, denied, would be denied
//                                             └► rate(name, kind), sum(name, kind)

// ranges are the time ranges that the node remembers, in seconds. Each has 180 steps.
export const ranges = { '15m': 900, '1h': 3600, '6h': 21600 };

const rateOver = 5; // seconds: the rates of now are means over them
const kinds = ['offered', 'admitted', 'denied', 'shadow_denied'];

export class History {
  constructor() {
    this.kept = ranges['15m'];
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
    this.kept = ranges[view.range] ?? ranges['15m'];
    this.every = view.every || 5;
    this.began = this.recent.at(-1) ?? null;
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
    this.recent = [...this.recent, sample].slice(-rateOver - 1);
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
    const old = this.points.findIndex((p) => p > at - this.kept - this.every);
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

  // sum returns the total of a rule over the time range, null while nothing is known. Steps that were not sampled add nothing.
  sum(name, kind) {
    if (kind === 'passed') {
      const [admitted, shadow] = [this.sum(name, 'admitted'), this.sum(name, 'shadow_denied')];
      return admitted === null ? null : admitted + shadow;
    }
    const rates = this.rules.get(name)?.[kind];
    const now = this.now.get(name);
    if (!rates && !now) return null;
    let all = 0;
    const first = this.firstIn();
    for (let n = first; n < (rates?.length ?? 0); n++) all += (rates[n] ?? 0) * Math.min(this.points[n] - (this.points[n - 1] ?? this.points[n] - this.every), this.every);
    const open = (this.recent.at(-1)?.at ?? 0) - (this.points.at(-1) ?? 0);
    return all + (now && open > 0 ? now[kind] * Math.min(open, this.every) : 0);
  }

  // firstIn returns the index of the first point in the time range.
  firstIn() {
    const end = this.recent.at(-1)?.at ?? this.points.at(-1) ?? 0;
    const n = this.points.findIndex((p) => p > end - this.kept);
    return n < 0 ? this.points.length : n;
  }

  // rate returns the cost a second of a rule now, null while it is not known. A rule in shadow counts as admitted the cost that
  // enforcement would let pass; the cost that passed is that and the cost it would deny.
  rate(name, kind) {
    const now = this.now.get(name);
    if (!now) return null;
    return kind === 'passed' ? now.admitted + now.shadow_denied : now[kind];
  }
}
