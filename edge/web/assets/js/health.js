// The figures over all rules, and how each part of the node stands. Every state has a mark of its own beside its colour.
import { setAttr, setText } from './dom.js';
import { plural, rate, share, si } from './format.js';
import { marks } from './words.js';

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
  setAttr(document.querySelector('[data-figure=denied]'), 'data-none', !denied);
  put('share', offered > 0 ? share(denied / offered) : '–');
  put('flags', si(flags));
  put('suspects', si(rules.reduce((n, r) => n + (r.suspects ?? 0), 0)));
  return { offered, denied };
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
  if (!g.connected && g.mismatches?.clock) return ['bad', 'alone: clocks are apart'];
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
