// The first two lines: what is going on, and what is degraded.
import { byId, setText } from './dom.js';
import { clock, plural, rate, share, si } from './format.js';
import { marks } from './words.js';

// headline says it, of the rules that are shown, and returns a mark for the title of the page: where something is refused, and
// another where something is lost.
export function headline({ stream, degraded, sums, history, rules, flags }) {
  if (stream.state !== 'live') {
    put(stream.state === 'connecting' ? 'none' : 'bad', unheard(stream), '');
    return stream.state === 'connecting' ? '' : `${marks.bad} `;
  }
  const busy = sums.denied > 0 || nothingEnforced(rules);
  put(busy ? 'warn' : 'good', goingOn(sums, history, rules, flags), degraded.length ? `Degraded: ${degraded.join('; ')}.` : 'Nothing is degraded.');
  byId('trouble').dataset.state = degraded.length ? 'bad' : 'good';
  return degraded.length ? `${marks.bad} ` : busy ? `${marks.warn} ` : '';
}

function put(state, text, trouble) {
  const host = byId('headline');
  host.dataset.state = state;
  setText(host.firstElementChild, marks[state]);
  setText(host.lastElementChild, text);
  setText(byId('trouble'), trouble);
}

function unheard({ state, detail, heard }) {
  const since = heard ? ` The figures are those of ${clock(heard)}.` : '';
  switch (state) {
    case 'stale': return `The node has fallen silent.${since}`;
    case 'lost': return `The stream is lost: ${detail ?? 'the node does not answer'}.${since}`;
    default: return `Connecting…${since}`;
  }
}

const nothingEnforced = (rules) => rules.length > 0 && rules.every((r) => r.mode !== 'enforce');

function goingOn(sums, history, rules, flags) {
  if (nothingEnforced(rules)) return `Nothing is enforced: ${modes(rules)}. ${rate(sums.offered)} asked.`;
  if (sums.offered === null) return 'Counting…';
  const flagged = flags.block + flags.shed > 0 ? ` ${si(flags.block)} blocked, ${si(flags.shed)} shed.` : '';
  if (sums.offered === 0) return `Nothing is asked.${flagged}`;
  if (sums.denied === 0) return `${rate(sums.offered)} asked, nothing refused.${flagged}`;
  const denied = (r) => history.rate(r.name, 'denied') ?? 0;
  const worst = rules.reduce((a, b) => (denied(b) > denied(a) ? b : a));
  return `Refusing ${rate(sums.denied)} of ${rate(sums.offered)} (${share(sums.denied / sums.offered)}), most by ${worst.name}.${flagged}`;
}

function modes(rules) {
  const off = rules.filter((r) => r.mode === 'off').length;
  const shadow = rules.length - off;
  return [off && `${plural(off, 'rule')} off`, shadow && `${plural(shadow, 'rule')} in shadow`].filter(Boolean).join(', ');
}
