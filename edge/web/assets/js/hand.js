// Overrides by an operator: a key is blocked, allowed, or its mitigation lifted.
import { json, keyParam } from './api.js';
import { byId, options, setText } from './dom.js';
import { span } from './format.js';
import { toast } from './toast.js';

const everyRule = '*'; // the node looks for the key under each, and for the digest of it
const remembered = 'headgate-by';

export class Hand {
  // done(flag) is called with a flag that was set, undone(flag) with one that was lifted; now() is the node's present, in ms.
  // changed() with a limit.
  constructor({ done, undone, changed, now }) {
    this.now = now;
    this.changed = changed;
    this.done = done;
    this.undone = undone;
    this.dialog = byId('hand');
    byId('hand-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.submit();
    });
    byId('hand-cancel').addEventListener('click', () => this.dialog.close());
    byId('hand-form').addEventListener('change', () => this.name());
  }

  rules(names) {
    options(byId('hand-rule'), [...names, everyRule]);
    byId('hand-rule').lastElementChild.text = 'all rules that know the key';
  }

  name() {
    const limits = this.action() === 'limit';
    setText(byId('hand-do'), { block: 'Block', allow: 'Allow', limit: 'Change' }[this.action()]);
    byId('hand-limit').parentElement.hidden = !limits;
    byId('hand-limit').required = limits;
  }

  action() { return byId('hand-form').elements.action.value; }

  // open asks what to do, with what is known filled in.
  open({ action = 'block', rule = '', key = '' } = {}) {
    byId('hand-form').elements.action.value = action;
    if (rule) byId('hand-rule').value = rule;
    byId('hand-key').value = key;
    byId('hand-by').value ||= recall();
    byId('hand-limit').value = '';
    setText(byId('hand-fault'), '');
    this.name();
    this.dialog.showModal();
    byId(!key ? 'hand-key' : action === 'limit' ? 'hand-limit' : 'hand-reason').focus();
  }

  async submit() {
    const value = (id) => byId(id).value.trim();
    const body = { rule: byId('hand-rule').value, ...keyParam(byId('hand-key').value), ttl: value('hand-ttl'), reason: value('hand-reason') };
    if (value('hand-by')) body.by = value('hand-by');
    if (this.action() === 'limit') body.limit = value('hand-limit');
    else body.action = this.action();
    byId('hand-do').disabled = true;
    try {
      const done = body.limit ? await this.limit(body) : body.rule === everyRule ? await everywhere(body) : under(await this.set(body));
      store(value('hand-by'));
      byId('hand-reason').value = '';
      this.dialog.close();
      toast(done);
    } catch (fault) {
      setText(byId('hand-fault'), fault.status ? fault.message : 'The node does not answer: nothing was changed, as far as this page knows.');
    } finally {
      byId('hand-do').disabled = false;
    }
  }

  async limit(body) {
    const set = await json('POST', '/v1/limits', { body });
    this.changed();
    return `${set.key} has ${set.limit} under ${set.rule}${set.before ? `, was ${set.before}` : ''}, for ${span((Date.parse(set.expires) - this.now()) / 1000)}${set.alone ? '; at this node only' : ''}.`;
  }

  // unset takes back the limit by hand of an explained key.
  async unset({ rule, key }) {
    const gone = await json('DELETE', '/v1/limits', { query: { rule, shown: key, by: recall() } }).catch((fault) => fault);
    this.changed();
    toast(!gone ? `${key} has the limit of ${rule} again.` : gone.status === 404 ? `${key} is under a limit for its network, or for everybody: take back that one.` : `Nothing was changed: ${gone.message}`);
  }

  async set(body) {
    const flag = await json('POST', '/v1/mitigations', { body });
    this.done(flag);
    return flag;
  }

  // lift lifts a mitigation at once. One that an operator had set can be set again.
  async lift(flag) {
    try {
      await json('DELETE', '/v1/mitigations', { query: { rule: flag.rule, shown: flag.key, by: recall() } });
      this.undone(flag);
      toast(`${flag.key} is ${flag.action === 'block' ? 'unblocked' : 'lifted'} under ${flag.rule}.`, this.again(flag));
    } catch (fault) {
      if (fault.status === 404) this.undone(flag);
      toast(fault.status === 404 ? `${flag.key} has no mitigation under ${flag.rule} now.` : `Nothing was lifted: ${fault.status ? fault.message : 'the node does not answer.'}`);
    }
  }

  // again returns what sets flag as it was, for flags that were set by hand.
  again(flag) {
    const left = Math.ceil((Date.parse(flag.expires) - this.now()) / 1000);
    if (!flag.source.startsWith('manual:') || left < 1) return null;
    const body = { rule: flag.rule, shown: flag.key, action: flag.action, ttl: `${left}s`, reason: flag.reason ?? '', by: flag.source.slice('manual:'.length) };
    return () => this.set(body).then(
      (set) => toast(`${set.key} is ${set.action === 'block' ? 'blocked' : 'allowed'} again, for ${span(left)}.`),
      (fault) => toast(`Not set again: ${fault.message}`));
  }
}

function under(flag) { return `${flag.key} is ${flag.action === 'block' ? 'blocked' : 'allowed'} under ${flag.rule}.`; }

// everywhere changes every rule that knows a key and says what was changed; the stream shows the mitigations.
async function everywhere(body) {
  const { changed, left } = await json('POST', '/v1/mitigations', { body });
  const others = left.map((l) => ` ${l.rule} is left: ${l.reason}.`).join('');
  if (!changed.length) throw Object.assign(new Error(`No rule knows this key.${others}`), { status: 404 });
  return `${body.action === 'block' ? 'Blocked' : 'Allowed'}: ${changed.map((c) => `${c.key} under ${c.rule}`).join(', ')}.${others}`;
}

export function recall() {
  try { return localStorage.getItem(remembered) ?? ''; } catch { return ''; } // storage may be forbidden
}

function store(by) {
  try { localStorage.setItem(remembered, by); } catch { /* it is asked for again */ }
}
