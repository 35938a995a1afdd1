// The pools: how busy each is, its level, and the tiers that are denied by it. Without pools there is no section.
import { byId, setText } from './dom.js';
import { plural, share, span } from './format.js';
import { Grid } from './grid.js';

let poolGrid;

// pools shows list, as /v1/pools answers it, as of now in ms.
export function pools(list, now) {
  byId('pools').hidden = !list?.length;
  if (!list?.length) return;
  if (!poolGrid) {
    poolGrid = new Grid('Pools', ['Pool', 'Busy', 'Denied now', '#Level', '#Sources', 'Last report', 'Sheds above', 'Restores below']);
    byId('pools-part').append(poolGrid.node);
  }
  const shed = list.filter((p) => p.level > 0).length;
  setText(byId('pools-note'), shed ? `${shed} of ${plural(list.length, 'pool')} now denying requests` : `${plural(list.length, 'pool')}, nothing denied by them`);
  poolGrid.fill(list.map((p) => poolRow(p, now)));
}

function poolRow(p, now) {
  const busy = p.sources ? { text: share(p.utilisation), part: p.utilisation, over: p.utilisation > p.shed_above } : 'no reports';
  return [{ text: p.name, kind: 'key' }, busy, deniedTiers(p), p.level.toFixed(2), String(p.sources),
    p.heard ? `${span(Math.max(0, (now - Date.parse(p.heard)) / 1000))} ago` : 'never', share(p.shed_above), share(p.restore_below)];
}

// deniedTiers lists the tiers that the pool denies, and the share of their requests.
export function deniedTiers(p) {
  const denied = (p.tiers ?? []).filter((t) => t.ratio > 0).map((t) => `${t.tier} ${share(t.ratio)}`);
  return denied.length ? { state: 'warn', text: denied.join(', ') } : { state: 'good', text: 'none' };
}
