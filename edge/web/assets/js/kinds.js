// Each kind of rule in its own terms: the tokens of a bucket, the places of a concurrency limit, the tiers of a reserve, the
// blocks of a ladder. Pure functions.
import { amount, brief, plural, share, si, span, whole } from './format.js';

// limitOf writes what a rule allows: 100 per 10s; 20 at once, 10 per 1s; 3 places a key.
export function limitOf(rule) {
  if (rule.kind === 'concurrency') return `${plural(rule.limit, 'place')} a key`;
  const unit = ['requests', 'cost'].includes(rule.unit) ? '' : rule.unit;
  const window = `${amount(rule.limit)}${unit ? ` ${unit}` : ''} per ${span(rule.window)}`;
  const burst = rule.burst ?? rule.bucket?.burst;
  if (!burst) return window;
  const delay = rule.delay ?? rule.bucket?.delay;
  return `${amount(burst)} at once, ${window}${delay ? `, waits up to ${brief(delay)}` : ''}`;
}

// settingsOf lists what a rule has beside its limit: its reserve, whether denied requests count, how many narrower keys must ask,
// how many clients a block may deny, and how much longer than exact its retries are.
export function settingsOf(rule) {
  return [...(rule.reserve ?? []).map((r) => `${share(r.share)} reserved for ${r.tier}`), rule.counts === 'offered' && 'denied requests count',
    rule.siblings && `if ${rule.siblings} narrower keys ask`, rule.max_blast && `blocks up to ${plural(rule.max_blast, 'client')}`,
    rule.retry_spread && `retry up to ${share(rule.retry_spread)} longer`].filter(Boolean);
}

// blocksOf writes the times of a rule's blocks: 10m; 10m, 1h, then 1d.
export function blocksOf(rule) {
  const steps = rule.blocks ?? [];
  if (steps.length < 2) return span(rule.block_for);
  return `${steps.slice(0, -1).map(span).join(', ')}, then ${span(steps.at(-1))}`;
}

// shedsOf writes how a rule sheds: each request by itself, or the same clients for a while.
export function shedsOf(rule) { return rule.shed_by ? `sheds by ${rule.shed_by}, for ${span(rule.epoch)} each` : 'sheds'; }

// takenOf writes the places that all keys hold under a rule: 5 places taken by 2 keys.
export function takenOf(rule) {
  const { taken, keys } = rule.places ?? { taken: 0, keys: 0 };
  return taken ? `${plural(taken, 'place')} taken by ${plural(keys, 'key')}` : 'no place taken';
}

// factsOf lists the state of a key, as /v1/explain answers it, as names and texts.
export function factsOf(v) {
  const rows = [];
  if (v.bucket) rows.push(['bucket', bucketOf(v)]);
  if (v.places) rows.push(['places', placesOf(v)]);
  if (v.reserve) rows.push(['reserve', v.reserve.map((r) => `${r.tier || 'others'} ${whole(r.left)} of ${whole(r.most)} left`).join(', ')]);
  if (v.strikes) rows.push(['strikes', strikesOf(v)]);
  if (v.siblings) rows.push(['narrower keys', siblingsOf(v.siblings)]);
  for (const level of v.ladder ?? []) rows.push(['network', networkOf(level)]);
  if (v.blast) rows.push(['clients', clientsOf(v.blast)]);
  if (v.shed_by) rows.push(['shed by', `${v.shed_by.part}, for ${span(v.shed_by.epoch)} each; drawn again in ${until(v, v.shed_by.ends)}`]);
  return rows;
}

const until = (v, time) => span((Date.parse(time) - Date.parse(v.now)) / 1000);

function bucketOf(v) {
  const { bucket: b } = v;
  if (!b.full_at) return `full, ${whole(b.left)} of ${whole(b.burst)} tokens`;
  return [`${whole(b.left)} of ${whole(b.burst)} tokens, full again in ${until(v, b.full_at)}`, b.debt && `${whole(b.debt)} taken in advance`,
    b.wait && `the next request would wait ${brief(b.wait)}`].filter(Boolean).join('; ');
}

function placesOf(v) {
  const { places: p } = v;
  if (!p.oldest) return `0 of ${whole(v.limit)} taken`;
  return `${whole(p.taken)} of ${whole(v.limit)} taken by ${plural(p.leases, 'lease')}, the oldest for ${span((Date.parse(v.now) - Date.parse(p.oldest)) / 1000)}; it ends in ${until(v, p.until)} unless it is released`;
}

function strikesOf(v) {
  const { strikes: s } = v;
  return `${plural(s.blocks, 'block')} in a row, the next lasts ${span(s.next)}${s.forgotten_at ? `; forgotten in ${until(v, s.forgotten_at)}` : ''}`;
}

function siblingsOf(s) { return `${whole(s.asked)} of ${whole(s.needed)} asked${s.asked < s.needed ? ', so it denies nothing' : ''}`; }

function networkOf(l) { return `${l.key}: ${l.verdict === 'deny' ? 'denies' : 'passes'}, ${whole(l.used)} of ${whole(l.limit)} used, ${siblingsOf(l.siblings)}`; }

function clientsOf(b) {
  if (!b.clients) return `none counted; above ${whole(b.max)} a block sheds instead`;
  return b.sheds ? `about ${whole(b.clients)}, more than ${whole(b.max)}: it sheds instead of blocking` : `about ${whole(b.clients)}; above ${whole(b.max)} a block sheds instead`;
}

// part returns how much of its limit a key has used, from 0 to 1, where its rule has a level of that now: a bucket or places.
export function partOf(v) {
  if (v.bucket) return { used: 1 - v.bucket.fill, text: `${share(1 - v.bucket.fill)} of the bucket taken` };
  if (v.places) return { used: v.places.taken / Math.max(1, v.limit), text: `${whole(v.places.taken)} of ${whole(v.limit)} places taken` };
  return null;
}

// nowOf writes the state of a key of the top list in the terms of its rule, "" for a window.
export function nowOf(k) {
  if (k.kind === 'bucket') return `${whole(Math.max(0, k.limit - k.admitted))} of ${whole(k.limit)} tokens left`;
  if (k.kind === 'concurrency') return `${whole(k.admitted)} of ${whole(k.limit)} places taken`;
  return '';
}
