// The first lines: what is going on, and what does not stand as it should. Every state has a mark of its own beside its colour.
import { byId, setText } from './dom.js';
import { clock, plural, rate, share, si } from './format.js';

const marks = { good: '●', warn: '▲', bad: '✕', none: '○' };

// figures shows the sums over all rules, or over the one that is chosen.
export function figures(history, rules, flags) {
  const sum = (kind) => rules.reduce((all, r) => {
    const one = history.rate(r.name, kind);
    return one === null ? all : (all ?? 0) + one;
  }, null);
  const [offered, passed, denied] = ['offered', 'passed', 'denied'].map(sum);
  const put = (name, text) => setText(document.querySelector(`[data-figure="${name}"]`), text);
  put('offered', rate(offered));
  put('admitted', rate(passed));
  put('denied', rate(denied));
  put('share', offered > 0 ? share(denied / offered) : '–');
  put('flags', si(flags));
  put('suspects', si(rules.reduce((n, r) => n + (r.suspects ?? 0), 0)));
  return { offered, denied };
}

// headline says in a sentence what is going on.
export function headline({ stream, degraded, sums, history, rules, flags }) {
  const trouble = byId('trouble');
  trouble.dataset.state = degraded.length ? 'bad' : 'good';
  setText(trouble, !heard(stream) ? '' : degraded.length ? `Degraded: ${degraded.join('; ')}.` : 'Nothing is degraded.');
  if (stream.state !== 'live') {
    const since = stream.heard ? ` The figures are those of ${clock(stream.heard)}.` : '';
    const what = { connecting: 'Connecting…', stale: 'The node has fallen silent.', lost: `The stream is lost: ${stream.detail ?? 'the node does not answer'}.` }[stream.state];
    return say(stream.state === 'connecting' ? 'none' : 'bad', what + since);
  }
  return say(sums.denied > 0 || rules.length && rules.every((r) => r.mode !== 'enforce') ? 'warn' : 'good', calm(sums, history, rules, flags));
}

const heard = (stream) => stream.state === 'live';

function say(kind, text) {
  const host = byId('headline');
  host.dataset.state = kind;
  setText(host.firstElementChild, marks[kind]);
  setText(host.lastElementChild, text);
}

function calm(sums, history, rules, flags) {
  if (rules.length && rules.every((r) => r.mode !== 'enforce')) return `Nothing is enforced: ${modes(rules)}. ${rate(sums.offered)} asked.`;
  if (sums.offered === null) return 'Counting…';
  const flagged = flags.block + flags.shed > 0 ? ` ${si(flags.block)} blocked, ${si(flags.shed)} shed.` : '';
  if (sums.offered === 0) return `Nothing is asked.${flagged}`;
  if (sums.denied === 0) return `${rate(sums.offered)} asked, nothing refused.${flagged}`;
  const worst = rules.reduce((a, b) => ((history.rate(b.name, 'denied') ?? 0) > (history.rate(a.name, 'denied') ?? 0) ? b : a));
  return `Refusing ${rate(sums.denied)} of ${rate(sums.offered)} (${share(sums.denied / sums.offered)}), most by ${worst.name}.${flagged}`;
}

function modes(rules) {
  const off = rules.filter((r) => r.mode === 'off').length;
  const shadow = rules.length - off;
  return [off && `${plural(off, 'rule')} off`, shadow && `${plural(shadow, 'rule')} in shadow`].filter(Boolean).join(', ');
}

// health shows how each part stands.
export function health({ stream, view, rules }) {
  part('stream', ...streamState(stream));
  if (!view) return;
  part('rules', ...rulesState(rules, view.degraded ?? []));
  part('ring', ...ringState(view.cluster?.ring));
  part('gossip', ...gossipState(view.cluster?.gossip));
  part('sketch', ...sketchState(view.sketches ?? []));
}

function part(name, kind, text) {
  const host = document.querySelector(`[data-part="${name}"]`);
  host.dataset.state = kind;
  setText(host.firstElementChild, marks[kind]);
  setText(host.lastElementChild, text);
  host.title = text;
}

function streamState({ state, viewers }) {
  switch (state) {
    case 'live': return ['good', viewers > 1 ? `live, ${plural(viewers, 'viewer')}` : 'live'];
    case 'stale': return ['warn', 'silent'];
    case 'lost': return ['bad', 'lost, trying again'];
    default: return ['none', 'connecting'];
  }
}

function rulesState(rules, degraded) {
  const off = rules.filter((r) => r.mode === 'off').length;
  const shadow = rules.filter((r) => r.mode === 'shadow').length;
  const reload = degraded.some((text) => text.includes('reload'));
  const parts = [off && `${si(off)} off`, shadow && `${si(shadow)} in shadow`].filter(Boolean);
  const enforced = rules.length - off - shadow;
  const text = [`${si(enforced)} of ${si(rules.length)} enforced`, ...parts, reload && 'last reload refused'].filter(Boolean).join(', ');
  return [reload || rules.length > 0 && off === rules.length ? 'bad' : off ? 'warn' : 'good', text];
}

function ringState(ring) {
  if (!ring) return ['none', 'not used'];
  const up = ring.servers.filter((s) => s.up && !s.lost).length;
  const text = `${up} of ${plural(ring.servers.length, 'server')} up, ${plural(ring.nodes, 'node')}`;
  if (ring.clock.state === 'apart') return ['bad', `${text}, clock apart`];
  return [up === ring.servers.length ? 'good' : up ? 'warn' : 'bad', up ? text : 'lost: failure modes act'];
}

function gossipState(g) {
  if (!g) return ['none', 'not used'];
  const pops = (g.pops ?? []).filter((p) => p.alive > 0);
  const alive = pops.reduce((n, p) => n + p.alive, 0);
  if (g.lost) return ['bad', 'nobody is heard: failure modes act'];
  if (!g.connected) return ['bad', 'alone: nobody is heard'];
  const dead = (g.members ?? []).filter((m) => m.state === 'dead').length;
  return [dead ? 'warn' : 'good', `${plural(alive, 'node')} in ${plural(pops.length, 'PoP')}${dead ? `, ${dead} dead` : ''}`];
}

function sketchState(list) {
  if (!list.length) return ['none', 'no rules'];
  const fullest = list.reduce((a, b) => (b.fill > a.fill ? b : a));
  const saturated = list.some((s) => s.saturated);
  return [saturated ? 'bad' : 'good', `${share(fullest.fill)} full${saturated ? ', saturated' : ''}`];
}
