// What a flag says, in words, and the marks of states.

// marks are what a state looks like to those who do not see its colour.
export const marks = { good: '●', warn: '▲', bad: '✕', none: '○' };

// wordOf says by whose word a flag stands.
export function wordOf(f) {
  const [kind, ...rest] = f.source.split(':');
  const who = rest.join(':');
  if (kind === 'manual') return f.node ? `${who} at ${f.node}` : who;
  if (kind === 'gossip') return `world, by ${who}`;
  if (kind === 'ring') return 'this PoP';
  return 'this node';
}

// reasonOf says why a flag stands.
export function reasonOf(f) {
  if (f.source.startsWith('manual:')) return f.reason || 'by hand, no reason given';
  const times = f.limit > 0 ? f.offered / f.limit : 0;
  const over = times > 1.005 ? `${times < 10 ? times.toFixed(1) : Math.round(times)} times its limit` : 'reached its limit';
  return f.reason ? `${over}: ${f.reason}` : over;
}
