// What is wrong with the node: what is lost, and what fails now and then. The first changes which limits hold and is the
// headline; the second is a line below it.
import { plural, si } from './format.js';

const recent = 60; // seconds in which an error counts as present

// losses returns a sentence for each part that is lost, of the picture view.
export function losses(view) {
  const { ring, gossip } = view.cluster ?? {};
  const alone = view.rules.some((r) => r.mode !== 'off' && r.scope !== 'node') ? `: ${consequence(view.rules)}` : '; no rule in force needs it';
  const all = [];
  if (ring?.clock.state === 'apart') all.push(`This node’s clock differs from the ring’s${alone}.`);
  else if (ring?.servers.length && ring.servers.every((s) => s.lost)) all.push(`The ring is lost${alone}.`);
  if (gossip && gossip.lost) all.push(`The other PoPs are lost: ${globally(view.rules)}.`);
  else if (gossip && !gossip.connected) all.push(`No other node answers gossip: ${globally(view.rules)}.`);
  return all;
}

// failing says what rules do whose view is lost, by their failure modes; those that do not limit on their own are named.
function failing(rules, local) {
  const named = (mode, what) => {
    const names = rules.filter((r) => r.mode !== 'off' && r.failure_mode === mode).map((r) => r.name);
    return names.length > 0 && `${listOf(names)} ${names.length === 1 ? 'denies' : 'deny'} ${what}`;
  };
  const says = [named('local', '') && local, named('allow', 'nothing'), named('deny', 'everything')].filter(Boolean);
  return says.join('; ') || local;
}

const consequence = (rules) => failing(rules.filter((r) => r.scope !== 'node'), 'each node limits on its own');
const globally = (rules) => failing(rules.filter((r) => r.scope === 'global'), 'each PoP limits on its own');

// Watch notices errors that happen while the page is open.
export class Watch {
  constructor() { this.samples = []; }

  // notes returns a sentence for each thing that fails while the node goes on: dead members, errors of the last minute, requests
  // for rules that do not exist.
  notes(view) {
    const now = Date.parse(view.now) / 1000;
    const sample = { at: now, errors: errorsOf(view.cluster?.ring), unknown: sum(view.doors, (d) => d.unknown_rule) };
    if (this.samples.at(-1)?.errors > sample.errors) this.samples = []; // the node was restarted
    this.samples = [...this.samples.filter((s) => s.at > now - recent && s.at < now), sample];
    const was = this.samples[0];
    const dead = (view.cluster?.gossip?.members ?? []).filter((m) => m.state === 'dead').map((m) => m.name);
    const [failed, unknown] = [sample.errors - was.errors, sample.unknown - was.unknown];
    return [
      dead.length && `${plural(dead.length, 'node')} ${dead.length === 1 ? 'does' : 'do'} not answer: ${listOf(dead)}.`,
      failed > 0 && `${plural(failed, 'ring operation')} failed in the last minute.`,
      unknown > 0 && `${plural(unknown, 'request')} named a rule that does not exist, in the last minute: the log names it.`,
    ].filter(Boolean);
  }

  // past says what failed before; "" if nothing ever did.
  past(view) {
    const errors = errorsOf(view.cluster?.ring);
    return errors > 0 ? `${si(errors)} ring ${errors === 1 ? 'operation has' : 'operations have'} failed since start.` : '';
  }
}

// listOf joins names, at most three of them.
function listOf(names) {
  return names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ');
}

function sum(list, value) { return (list ?? []).reduce((all, one) => all + value(one), 0); }

function errorsOf(ring) { return sum(ring?.servers, (s) => sum(Object.values(s.errors ?? {}), (n) => n)); }
