// The first two lines: what is lost, or else the traffic; and below it what else is wrong.
import { losses } from './faults.js';
import { byId, setText } from './dom.js';
import { clock, plural, rate, share, si } from './format.js';
import { byRequests } from './health.js';
import { marks } from './words.js';

// headline fills both lines, for the rules that are shown, and returns the mark for the title of the page: one where something
// is lost or faulty, another where something is denied.
export function headline({ stream, view, watch, sums, history, rules, counts }) {
  if (stream.state !== 'live' || !view) {
    const trying = stream.state === 'connecting' || stream.state === 'live';
    put('headline', trying ? 'none' : 'bad', disconnected(stream));
    put('trouble', 'none', '');
    return trying ? '' : `${marks.bad} `;
  }
  const lost = losses(view);
  const busy = sums.denied > 0 || nothingEnforced(rules);
  const traffic = trafficOf({ sums, history, rules, counts, view });
  if (lost.length) put('headline', 'bad', lost.join(' '));
  else put('headline', busy ? 'warn' : 'good', traffic);
  const [state, text] = faults({ view, watch, lost });
  put('trouble', state, lost.length ? [traffic, text].filter(Boolean).join(' ') : text);
  return lost.length || view.degraded.length ? `${marks.bad} ` : busy ? `${marks.warn} ` : '';
}

// faults returns what is wrong besides what is lost, and how much it matters.
function faults({ view, watch, lost }) {
  const notes = watch.notes(view);
  const known = view.degraded.length > lost.length || !lost.length && view.degraded.length > 0;
  const all = [known && `Faults: ${view.degraded.join('; ')}.`, ...notes].filter(Boolean);
  if (known) return ['bad', all.join(' ')];
  if (notes.length) return ['warn', all.join(' ')];
  if (lost.length) return ['plain', ''];
  const past = watch.past(view);
  return ['none', past ? `No faults now. ${past}` : 'No faults.'];
}

function put(id, state, text) {
  const host = byId(id);
  host.dataset.state = state;
  setText(host.firstElementChild, id === 'trouble' && !['warn', 'bad'].includes(state) ? '' : marks[state]);
  setText(host.lastElementChild, text || '\u00a0');
}

function disconnected({ state, detail, since }) {
  const figures = since ? ` The figures are those of ${clock(since)}.` : '';
  switch (state) {
    case 'stale': return `The node is silent.${figures}`;
    case 'lost': return `The stream is lost: ${detail ?? 'the node does not answer'}.${figures}`;
    default: return `Connecting…${figures}`;
  }
}

const nothingEnforced = (rules) => rules.length > 0 && rules.every((r) => r.mode !== 'enforce');

function trafficOf({ sums, history, rules, counts, view }) {
  if (nothingEnforced(rules)) return `Nothing is enforced: ${modes(rules)}. ${rate(sums.offered)} offered.`;
  if (sums.offered === null) return 'Counting…';
  const inForce = mitigationsOf(counts);
  if (sums.offered === 0) return `${asked(view) ? 'No requests now' : 'No requests since start'}.${inForce}`;
  if (sums.denied === 0) return `${rate(sums.offered)} offered, nothing denied.${inForce}`;
  const denied = (r) => history.rate(r.name, 'denied') ?? 0;
  const worst = byRequests(rules).reduce((a, b) => (denied(b) > denied(a) ? b : a));
  return `Denying ${rate(sums.denied)} of ${rate(sums.offered)} (${share(sums.denied / sums.offered)}), most by ${worst.name}.${inForce}`;
}

function mitigationsOf({ block, shed, split }) {
  if (block + shed === 0) return '';
  return split ? ` ${si(block)} blocked, ${si(shed)} shed.` : ` ${plural(block + shed, 'mitigation')}.`;
}

// asked reports whether anything has asked since the node started.
export function asked(view) {
  return (view.doors ?? []).some((d) => d.asked > 0) || view.rules.some((r) => r.offered > 0);
}

function modes(rules) {
  const off = rules.filter((r) => r.mode === 'off').length;
  const shadow = rules.length - off;
  return [off && `${plural(off, 'rule')} off`, shadow && `${plural(shadow, 'rule')} in shadow`].filter(Boolean).join(', ');
}
