// The mitigations in force that the page knows of, by rule and key. Events call them flags.
//
//	event live ──────────► the first 100, and how many there are ─┐
//	event flag-… ────────► one                                    ├─► Mitigations.all()
//	GET /v1/mitigations ─► the rest, when the person asks         ┘
import { json } from './api.js';

const mostKept = 10000; // that are kept
const pageSize = 1000;

// idOf names a rule and a key together.
export const idOf = ({ rule, key }) => `${rule}\n${key}`;

export class Mitigations {
  constructor() {
    this.known = new Map();
    this.counts = { total: 0, shed: 0, block: 0, allow: 0 };
    this.loading = false;
    this.loaded = false; // more than the stream sends
    this.missed = false; // the stream skipped changes since then
  }

  // live takes in an event. If it lists all mitigations, there are no others.
  live(view) {
    this.counts = view.flags;
    const first = view.mitigations ?? [];
    if (first.length >= this.counts.total) {
      this.known = new Map(first.map((f) => [idOf(f), f]));
      this.loaded = this.missed = false;
      return;
    }
    if (!this.loaded) this.known = new Map();
    for (const flag of first) this.put(flag);
  }

  put(flag) {
    if (this.known.size < mostKept || this.known.has(idOf(flag))) this.known.set(idOf(flag), flag);
  }

  cleared(flag) { this.known.delete(idOf(flag)); }

  // all returns the mitigations that have not expired at now, in ms.
  all(now) {
    const live = [];
    for (const [id, flag] of this.known) {
      if (Date.parse(flag.expires) > now) live.push(flag);
      else this.known.delete(id);
    }
    return live;
  }

  // load asks for all mitigations, of one rule if it is named. loaded(count) is called as they come.
  async load(rule, loaded) {
    this.loading = this.loaded = true;
    this.missed = false;
    try {
      let cursor = '';
      do {
        const answer = await json('GET', '/v1/mitigations', { query: { rule, n: pageSize, cursor } });
        answer.mitigations.forEach((f) => this.put(f));
        cursor = answer.next_cursor;
        loaded(this.known.size);
      } while (cursor && this.known.size < mostKept);
    } finally {
      this.loading = false;
    }
  }
}
