// Who counts together: the ring of this PoP, and the members of all PoPs.
import { byId, el, setText } from './dom.js';
import { brief, bytes, plural, si, span, whole } from './format.js';
import { Grid } from './grid.js';

const parts = {};

// cluster shows c, as /v1/cluster answers it, as of now in ms.
export function cluster(c, now) {
  parts.ring ??= part('ring-part', 'Ring: the nodes of this PoP', new Grid('Servers of the ring', ['Server', 'State', 'Last heard', '#Operations', '#Errors', 'Last error']));
  parts.gossip ??= part('gossip-part', 'Gossip: the nodes of all PoPs', new Grid('Members', ['Node', 'PoP', 'State', 'Since', 'Address', 'Version']));
  setText(byId('cluster-note'), `widest view: ${c.view}`);
  parts.ring(c.ring && ringNotes(c.ring), c.ring?.servers.map(serverRow),
    'No ring is configured: this node is its PoP, and counts alone.');
  parts.gossip(c.gossip && gossipNotes(c.gossip), c.gossip?.members?.map((m) => memberRow(m, c.gossip, now)),
    'No gossip is configured: rules of scope global hold over this PoP alone, and your word is this node’s.');
}

// part makes a title, notes and a table in the element id, and returns what fills them: notes and rows, or why there are none.
function part(id, title, grid) {
  const notes = el('p');
  byId(id).append(el('h3', { text: title }), notes, grid.node);
  return (told, rows, otherwise) => {
    notes.className = told ? 'quiet' : 'empty';
    setText(notes, told ? told.filter(Boolean).join(' · ') : otherwise);
    grid.node.hidden = !rows?.length;
    grid.fill(rows ?? []);
  };
}

function ringNotes(ring) {
  const skew = ring.clock.skew_seconds;
  const trouble = [[ring.dropped_cost, 'cost untold'], [ring.implausible, 'totals not believed'], [ring.failed, 'exchanges failed']];
  return [
    plural(ring.nodes, 'node'),
    ring.clock.state === 'apart' ? `clock ${brief(Math.abs(skew))} ${skew > 0 ? 'ahead' : 'behind'}` : `clock ${ring.clock.state}`,
    `a flush each ${brief(ring.flush)} takes ${brief(ring.last_flush_seconds)}`,
    `servers ${ring.fingerprint}`,
    ...trouble.map(([n, what]) => n > 0 && `${si(n)} ${what}`),
  ];
}

function serverRow(s) {
  const errors = Object.values(s.errors ?? {}).reduce((a, b) => a + b, 0);
  const standing = s.lost ? { state: 'bad', text: 'lost' } : s.up ? { state: 'good', text: 'up' } : { state: 'warn', text: 'silent' };
  return [{ text: s.address, kind: 'key' }, standing, s.last_success_age === null ? 'never' : `${brief(s.last_success_age)} ago`,
    si(s.operations), whole(errors), s.last_error || '–'];
}

function gossipNotes(g) {
  return [
    ...(g.pops ?? []).map((p) => `${p.pop} ${p.alive}${p.dead ? ` (${p.dead} dead)` : ''}`),
    `sent ${bytes(g.bytes?.out ?? 0)}, got ${bytes(g.bytes?.in ?? 0)}`,
    g.lag?.count > 0 && `news after ${brief(g.lag.mean)}`,
    g.keys?.owned > 0 && `${plural(g.keys.owned, 'key')} added up here`,
    g.join_error && `join: ${g.join_error}`,
  ];
}

function memberRow(m, g, now) {
  const kind = { alive: 'good', dead: 'bad', left: 'none' }[m.state] ?? 'warn';
  const differs = differences(m, g);
  return [{ text: m.self ? `${m.name} (this)` : m.name, kind: 'key' }, m.pop,
    { state: differs && kind === 'good' ? 'warn' : kind, text: differs ? `${m.state}, ${differs}` : m.state },
    span((now - Date.parse(m.since)) / 1000), { text: m.address, kind: 'key' }, m.version || '–'];
}

// differences says what a member does not share with this node and should.
function differences(m, g) {
  const self = g.members.find((other) => other.self);
  if (!self || m.state !== 'alive') return '';
  return [m.rules !== self.rules && 'other rules', m.pop === self.pop && m.ring !== self.ring && 'other ring', m.wire && m.wire !== self.wire && 'other wire']
    .filter(Boolean).join(', ');
}
