// The policies, in the order of the file: what each does, and what it did. Without policies there is no section.
import { byId, setText } from './dom.js';
import { plural, si, span, whole } from './format.js';
import { Grid } from './grid.js';

let policyGrid;

// policies shows list, as /v1/policies answers it, as of now in ms, and how many tickets wait for a report. The stream carries the first 100 of them.
export function policies(list, now, tickets) {
  byId('policies').hidden = !list?.length;
  if (!list?.length) return;
  if (!policyGrid) {
    policyGrid = new Grid('Policies', ['Policy', 'Does', 'Counts by', 'Mode', '#Matched', '#Denied', 'Last seen']);
    byId('policies-part').append(policyGrid.node);
  }
  setText(byId('policies-note'), `${plural(list.length, 'policy', 'policies')}, requests since start${tickets ? `; ${plural(tickets, 'ticket')} waiting for a response` : ''}`);
  policyGrid.fill(list.map((p) => policyRow(p, now)));
}

function policyRow(p, now) {
  const would = p.mode === 'shadow' ? `${si(p.shadow_denied)} would be` : '';
  const does = p.unreported ? `${p.does}; its questions are never reported` : p.does;
  return [{ text: p.name, kind: 'key', href: `#policy=${encodeURIComponent(p.name)}` }, does, p.key || '–', p.mode, whole(p.matched), would || whole(p.denied),
    p.last_seen ? `${span(Math.max(0, (now - Date.parse(p.last_seen)) / 1000))} ago` : 'never'];
}

// showPolicy brings the row of a policy into view.
export function showPolicy(name) {
  const row = [...byId('policies-part').querySelectorAll('tbody tr')].find((r) => r.cells[0].textContent === name);
  row?.scrollIntoView({ block: 'center' });
  row?.querySelector('a')?.focus({ preventScroll: true });
}
