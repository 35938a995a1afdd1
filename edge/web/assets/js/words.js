// The names of states and of parts of a mitigation, as people read them.

// marks show a state to people who cannot see its colour.
export const marks = { good: '●', warn: '▲', bad: '✕', none: '○' };

// sourceOf names who set a mitigation: this node, this PoP, another PoP, or an operator.
export function sourceOf(m) {
  const [kind, ...rest] = m.source.split(':');
  const who = rest.join(':');
  if (kind === 'manual') return m.node ? `${who} at ${m.node}` : who;
  if (kind === 'gossip') return `all PoPs, via ${who}`;
  if (kind === 'ring') return 'this PoP';
  return 'this node';
}

// reasonOf says why a mitigation is in force: how far its key is over the limit, which block in a row it is, or how many
// clients a block would deny that sheds instead.
export function reasonOf(m) {
  if (m.source.startsWith('manual:')) return m.reason || 'by hand, no reason given';
  const times = m.limit > 0 ? m.offered / m.limit : 0;
  const over = times > 1.005 ? `${times < 10 ? times.toFixed(1) : Math.round(times)} times its limit` : 'reached its limit';
  const block = m.action === 'block' && m.strikes ? `, block ${m.strikes} in a row` : '';
  const row = m.action === 'shed' && m.blast ? `, about ${m.blast} clients` : block;
  return m.reason ? `${over}${row}: ${m.reason}` : `${over}${row}`;
}
