// The nodes and PoPs that count together: the ring of this PoP, and the members of all PoPs.
import { byId, el, setText } from './dom.js';
import { brief, bytes, plural, si, span, whole } from './format.js';
import { Grid } from './grid.js';

const parts = {};

const views = { node: 'this node limits on its own', pop: 'limits hold over this PoP', global: 'limits hold over all PoPs' };

// cluster shows c, as /v1/cluster answers it, as of now in ms.
export function cluster(c, now) {
  parts.ring ??= clusterPart('ring-part', 'Ring: the memcached servers of this PoP', new Grid('Servers of the ring', ['Server', 'State', 'Last answer', '#Operations', '#Errors', 'Last error']));
  parts.gossip ??= clusterPart('gossip-part', 'Gossip: the nodes of all PoPs', new Grid('Members', ['Node', 'PoP', 'State', 'Since', 'Address', 'Version']));
  setText(byId('cluster-note'), views[c.view] ?? c.view);
  parts.ring(c.ring && ringNotes(c.ring), c.ring?.servers.map(serverRow),
    'No ring is configured: this node is its PoP, and counts alone.');
  parts.gossip(c.gossip && gossipNotes(c.gossip), c.gossip?.members?.map((m) => memberRow(m, c.gossip, now)),
    'No gossip is configured: rules of scope global hold over this PoP alone, and a key that you block or allow is blocked or allowed on this node only.');
}

// clusterPart makes a title, notes and a table in the element id, and returns what fills them: notes and rows, or why there are none.
function clusterPart(id, title, grid) {
  const notes = el('p');
  byId(id).append(el('h3', { text: title }), notes, grid.node);
  return (texts, rows, otherwise) => {
    notes.className = texts ? 'quiet' : 'empty';
    setText(notes, texts ? texts.filter(Boolean).join(' · ') : otherwise);
    grid.node.hidden = !rows?.length;
    grid.fill(rows ?? []);
  };
}

function ringNotes(ring) {
  const { state, offset_seconds: ahead } = ring.clock;
  const apart = `clock ${brief(Math.abs(ahead))} ${ahead > 0 ? 'ahead' : 'behind'}`;
  const trouble = [[ring.dropped_cost, 'cost never sent'], [ring.implausible, 'implausible totals ignored'], [ring.failed, 'exchanges failed']];
  return [
    plural(ring.nodes, 'node'),
    state === 'apart' ? apart : ahead ? `${apart}, corrected` : `clocks ${state}`,
    `a flush every ${brief(ring.flush)} takes ${brief(ring.last_flush_seconds)}`,
    `servers ${ring.fingerprint}`,
    ...trouble.map(([n, what]) => n > 0 && `${si(n)} ${what}`),
  ];
}

function serverRow(s) {
  const errors = Object.values(s.errors ?? {}).reduce((a, b) => a + b, 0);
  const state = s.lost ? { state: 'bad', text: 'lost' } : s.up ? { state: 'good', text: 'up' } : { state: 'warn', text: 'silent' };
  return [{ text: s.address, kind: 'key' }, state, s.last_success_age === null ? 'never' : `${brief(s.last_success_age)} ago`,
    si(s.operations), whole(errors), s.last_error || '–'];
}

function gossipNotes(g) {
  return [
    ...(g.pops ?? []).map((p) => `${p.pop} ${p.alive}${p.dead ? ` (${p.dead} dead)` : ''}`),
    `sent ${bytes(g.bytes?.out ?? 0)}, received ${bytes(g.bytes?.in ?? 0)}`,
    g.lag?.count > 0 && `delay ${brief(g.lag.mean)}`,
    g.keys?.owned > 0 && `${plural(g.keys.owned, 'key')} aggregated here`,
    g.join_error && `join: ${g.join_error}`,
  ];
}

function memberRow(m, g, now) {
  const kind = { alive: 'good', dead: 'bad', left: 'none' }[m.state] ?? 'warn';
  const differs = differences(m, g);
  return [{ text: m.self ? `${m.name} (this)` : m.name, kind: 'key', href: pageOf(m) }, m.pop,
    { state: differs && kind === 'good' ? 'warn' : kind, text: differs ? `${m.state}, ${differs}` : m.state },
    span((now - Date.parse(m.since)) / 1000), { text: m.address, kind: 'key' }, m.version || '–'];
}

// pageOf returns the address of a member's dashboard, where it is known and worth a click.
export function pageOf(m) { return !m.self && m.state === 'alive' && URL.canParse(m.dashboard) && new URL(m.dashboard).protocol === 'http:' ? m.dashboard : null; }

// differences names the settings of a member that differ from this node's and should not.
function differences(m, g) {
  const self = g.members.find((other) => other.self);
  if (!self || m.state !== 'alive') return '';
  return [m.rules !== self.rules && 'other rules', m.pop === self.pop && m.ring !== self.ring && 'other ring', m.wire && m.wire !== self.wire && 'other wire']
    .filter(Boolean).join(', ');
}
