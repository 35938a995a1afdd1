// The findings of surges that are not over, or whose policies are in force: a sentence, and the policy that would deny the requests.
// They are asked for when the stream says that one changed, and with every look of the node while there is one.
import { json } from './api.js';
import { byId, el, keyed, setText } from './dom.js';
import { span, whole } from './format.js';
import { recall } from './hand.js';
import { toast } from './toast.js';

const findingSettles = 200; // ms
const findingLooks = 5000; // ms between two looks of the node

let findingTimer;
let present = () => Date.now();

// surgeChanged asks for the findings in a moment. at returns the node's present, in ms.
export function surgeChanged(at) {
  present = at ?? present;
  clearTimeout(findingTimer);
  findingTimer = setTimeout(loadFindings, findingSettles);
}

async function loadFindings() {
  const view = await json('GET', '/v1/surge', { unasked: true }).catch(() => null);
  if (!view) return;
  const shown = view.findings.filter((f) => !f.over || f.applied);
  byId('surge').hidden = !shown.length;
  keyed(byId('surge-list'), shown, { key: (f) => f.id, make: makeFinding, update: updateFinding });
  if (shown.length) findingTimer = setTimeout(loadFindings, findingLooks);
}

function makeFinding() {
  const node = el('li', { class: 'box finding' }, el('h3'), el('p', { class: 'sentence' }), el('p', { class: 'quiet applied' }), el('p', { class: 'tools' }));
  node.acts = {};
  for (const [name, words] of Object.entries({ shadow: 'Apply in shadow', enforce: 'Enforce', undo: 'Undo' })) {
    node.acts[name] = el('button', { type: 'button', text: words, on: { click: () => actOn(node.item, name) } });
    node.querySelector('.tools').append(node.acts[name]);
  }
  return node;
}

const findingKinds = { attack: 'An attack', crowd: 'A crowd', few: 'A few clients' };

function updateFinding(node, f) {
  node.item = f;
  setText(node.querySelector('h3'), `${findingKinds[f.kind] ?? f.kind}${f.over ? ', over' : ''}`);
  setText(node.querySelector('.sentence'), f.sentence);
  const is = f.applied;
  setText(node.querySelector('.applied'), !is ? '' : `Policy surge-${f.id} is in mode ${is.mode} for ${span((Date.parse(is.until) - present()) / 1000)}, by ${is.by}: ` +
    `${whole(is.matched)} requests matched, ${whole(is.denied)} ${is.mode === 'shadow' ? 'would have been' : 'were'} denied.`);
  node.acts.shadow.hidden = !f.policy || is;
  node.acts.enforce.hidden = is?.mode !== 'shadow';
  node.acts.undo.hidden = !is;
  node.querySelector('.tools').hidden = !f.policy && !is;
}

async function actOn({ id }, what) {
  const by = recall() || undefined;
  const done = what === 'undo'
    ? json('DELETE', '/v1/surge/apply', { query: { id, by } })
    : json('POST', '/v1/surge/apply', { body: { id, mode: what, by } });
  await done.then(
    () => toast(what === 'undo' ? `The policy of finding ${id} is gone.` : `Policy surge-${id} is in mode ${what} for 30 minutes.`),
    (fault) => toast(`Nothing was changed: ${fault.status ? fault.message : 'the node does not answer.'}`));
  surgeChanged();
}
