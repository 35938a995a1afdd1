// The event stream, kept up: read by fetch, opened again when it ends or is silent, later each time it fails.
//
//   connecting ──hello──► live ──silent──► stale ──longer──┐
//       ▲                  └──────────end, error───────────┤
//       └───────────────── lost, n seconds ◄───────────────┘
import { ask, Problem } from './api.js';
import { reader } from './sse.js';

const staleAfter = 4000; // ms without an event: one comes every second
const cutAfter = 20000;
const pauses = [1, 2, 4, 8, 15]; // seconds

// Stream calls took(name, value) for each event and changed(state, detail) for each change of state: connecting, live, stale,
// lost; detail is the reason, if it is known.
export class Stream {
  constructor(took, changed) {
    this.took = took;
    this.changed = changed;
    this.state = '';
    this.failures = 0;
    this.received = 0;
  }

  // run keeps the stream up for as long as the page is there.
  async run() {
    setInterval(() => this.listen(), 1000);
    for (;;) {
      this.turn('connecting');
      const why = await this.read().catch((fault) => this.reason(fault));
      const pause = pauses[Math.min(this.failures++, pauses.length - 1)] * (0.8 + 0.4 * Math.random());
      this.turn('lost', why || 'the stream ended');
      await this.wait(pause);
    }
  }

  async read() {
    this.cut = new AbortController();
    this.received = performance.now();
    const answer = await ask('GET', '/v1/events', { query: { live: '1' }, signal: this.cut.signal, unasked: true });
    if (!answer.ok) throw new Problem(answer.status, await answer.json().catch(() => null));
    const text = new TextDecoder();
    const take = reader((name, data) => this.take(name, data));
    this.received = performance.now();
    for (const pieces = answer.body.getReader(); ;) {
      const { value, done } = await pieces.read();
      if (done) return 'the node ended the stream';
      this.received = performance.now();
      take(text.decode(value, { stream: true }));
    }
  }

  take(name, data) {
    this.failures = 0;
    this.turn('live');
    const value = JSON.parse(data);
    try { this.took(name, value); } catch (fault) { reportError(fault); } // ours: another stream would not mend it
  }

  // listen notices silence: a connection whose other end is gone stays open and carries nothing.
  listen() {
    const silent = performance.now() - this.received;
    if (this.state === 'live' && silent > staleAfter) this.turn('stale');
    if ((this.state === 'stale' || this.state === 'connecting') && silent > cutAfter) this.cut?.abort();
  }

  turn(state, detail) {
    if (state === this.state && !detail) return;
    if (state === 'connecting' && this.failures > 0) return; // it is lost until it is back
    this.state = state;
    this.changed(state, detail);
  }

  reason(fault) {
    if (fault instanceof Problem) return fault.message;
    return fault.name === 'AbortError' ? 'the node is silent' : 'the node does not answer';
  }

  // wait waits, less when the network comes back.
  wait(seconds) {
    return new Promise((resolve) => {
      const go = () => {
        clearTimeout(timer);
        removeEventListener('online', go);
        resolve();
      };
      const timer = setTimeout(go, seconds * 1000);
      addEventListener('online', go);
    });
  }
}
