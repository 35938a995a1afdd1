// The figures over all rules, and the state of each part of the node. Every state has a mark of its own beside its colour.
import { setAttr, setText } from './dom.js';
import { plural, rate, share, si, span } from './format.js';
import { deniedTiers } from './pools.js';
import { marks } from './words.js';

// figures shows the sums over all rules, or over the one that is chosen, now and over the time range. counts are mitigations.
export function figures(history, rules, counts) {
  const put = (name, text) => setText(document.querySelector(`[data-figure="${name}"]`), text);
  const below = (name, text) => setText(document.querySelector(`[data-sum="${name}"]`), text);
  const counted = byRequests(rules);
  const [offered, passed, denied] = ['offered', 'passed', 'denied'].map((kind) => total(counted, (r) => history.rate(r.name, kind)));
  const sums = Object.fromEntries(['offered', 'passed', 'denied'].map((kind) => [kind, total(counted, (r) => history.sum(r.name, kind))]));
  put('offered', rate(offered));
  put('admitted', rate(passed));
  put('denied', rate(denied));
  setAttr(document.querySelector('[data-figure=denied]'), 'data-none', !denied);
  put('share', offered > 0 ? share(denied / offered) : '–');
  const within = `in ${span(history.kept)}`;
  below('offered', `${si(sums.offered)} ${within}`);
  below('admitted', `${si(sums.passed)} ${within}`);
  below('denied', `${si(sums.denied)} ${within}`);
  below('share', sums.offered > 0 ? `${share(sums.denied / sums.offered)} ${within}` : '–');
  put('mitigations', si(counts.block + counts.shed));
  below('mitigations', counts.split && counts.block + counts.shed ? `${si(counts.block)} block, ${si(counts.shed)} shed` : 'blocked or shed');
  put('near', si(rules.reduce((n, r) => n + (r.suspects ?? 0), 0)));
  return { offered, denied };
}

// byRequests returns the rules whose figures are requests: costs are added up only where there is nothing else.
export function byRequests(rules) {
  const requests = rules.filter((r) => r.unit !== 'cost');
  return requests.length ? requests : rules;
}

// total adds up what is known; null if nothing is.
function total(rules, value) {
  return rules.reduce((all, r) => {
    const one = value(r);
    return one === null ? all : (all ?? 0) + one;
  }, null);
}

// health shows the state of each part.
export function health({ stream, view, rules }) {
  healthPart('stream', ...streamState(stream));
  if (!view) return;
  healthPart('rules', ...rulesState(rules, view.degraded ?? []));
  healthPart('ring', ...ringState(view.cluster?.ring));
  healthPart('gossip', ...gossipState(view.cluster?.gossip));
  healthPart('counters', ...countersState(view.sketches ?? []));
  document.querySelector('[data-part=pools]').hidden = !view.pools?.length;
  healthPart('pools', ...poolsState(view.pools ?? []));
}

function healthPart(name, kind, text) {
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
  const text = [`${si(enforced)} of ${si(rules.length)} enforced`, ...parts, reload && 'last reload failed'].filter(Boolean).join(', ');
  return [reload || rules.length > 0 && off === rules.length ? 'bad' : off ? 'warn' : 'good', text];
}

function ringState(ring) {
  if (!ring) return ['none', 'not used'];
  const up = ring.servers.filter((s) => s.up && !s.lost).length;
  const text = `${up} of ${plural(ring.servers.length, 'server')} up, ${plural(ring.nodes, 'node')}`;
  if (ring.clock.state === 'apart') return ['bad', `${text}, clocks differ`];
  return [up === ring.servers.length ? 'good' : up ? 'warn' : 'bad', up ? text : 'lost, failure modes apply'];
}

function gossipState(g) {
  if (!g) return ['none', 'not used'];
  const pops = (g.pops ?? []).filter((p) => p.alive > 0);
  const alive = pops.reduce((n, p) => n + p.alive, 0);
  if (g.lost) return ['bad', 'lost, failure modes apply'];
  if (!g.connected && g.mismatches?.clock) return ['bad', 'alone, clocks differ'];
  if (!g.connected) return ['bad', 'alone, no other node answers'];
  const dead = (g.members ?? []).filter((m) => m.state === 'dead').length;
  return [dead ? 'warn' : 'good', `${plural(alive, 'node')} in ${plural(pops.length, 'PoP')}${dead ? `, ${dead} dead` : ''}`];
}

// poolsState names the pool that denies most.
function poolsState(list) {
  const silent = list.filter((p) => !p.sources).length;
  const worst = list.reduce((a, b) => (b.level > (a?.level ?? 0) ? b : a), null);
  if (worst) return ['warn', `${worst.name} denies ${deniedTiers(worst).text}`];
  return [silent ? 'none' : 'good', silent ? `${plural(silent, 'pool')} without reports` : `${plural(list.length, 'pool')}, nothing denied`];
}

function countersState(list) {
  if (!list.length) return ['none', 'no rules'];
  const fullest = list.reduce((a, b) => (b.fill > a.fill ? b : a));
  const saturated = list.some((s) => s.saturated);
  return [saturated ? 'bad' : 'good', `${share(fullest.fill)} in use${saturated ? ', too full for good estimates' : ''}`];
}
