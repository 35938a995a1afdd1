// The explain panel: why a key would be allowed or denied now, asked again every 2 s while the page is visible.
import { json, keyParam } from './api.js';
import { byId, el, options, setText } from './dom.js';
import { amount, brief, clock, moment, rate, share, si, span, whole } from './format.js';
import { factsOf, limitOf, partOf } from './kinds.js';
import { allPoPs } from './allpops.js';
import { reasonOf, sourceOf } from './words.js';

const again = 2000; // ms

export class Explain {
  // does has hand(action, rule, key) and lift(flag).
  constructor(does) {
    this.does = does;
    this.asked = null; // {rule, key}
    this.pending = null;
    this.answer = byId('explain-answer');
    this.hint = this.answer.firstElementChild;
    this.row = null; // of a table, below which the answer stands
    byId('explain-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.place(null);
      this.ask(byId('explain-rule').value, byId('explain-key').value);
    });
    document.addEventListener('visibilitychange', () => { if (!document.hidden) this.refresh(); });
  }

  rules(names) { options(byId('explain-rule'), names); }

  // open asks for a key that was picked elsewhere, and brings the answer to view: below row, where the panel is not beside it.
  open({ rule, key }, row) {
    byId('explain-rule').value = rule;
    byId('explain-key').value = key;
    this.place(row && (row.closest('#top') || matchMedia('(max-width: 69.99rem)').matches) ? row : null);
    this.ask(rule, key);
    const seen = this.row ? this.answer : byId('explain-title');
    seen.scrollIntoView({ block: 'nearest' });
    seen.focus({ preventScroll: true });
  }

  // place puts the answer below a row, or with null where it belongs.
  place(row) {
    if (this.row) {
      this.row.below.remove();
      this.row.below = null;
    }
    this.row = row;
    byId('explain').append(this.answer);
    if (!row) return;
    const close = el('button', { type: 'button', class: 'plain small', text: 'Close', on: { click: () => this.close() } });
    row.below = el('tr', { class: 'below' }, el('td', { colspan: row.cells.length }, el('div', {}, this.answer, close)));
    row.after(row.below);
  }

  close() {
    const link = this.row.querySelector('button');
    this.place(null);
    this.asked = null;
    this.answer.replaceChildren(this.hint);
    link.focus();
  }

  ask(rule, key) {
    this.asked = { rule, key };
    this.answer.replaceChildren(el('p', { class: 'empty', text: 'loading…' }));
    return this.refresh(false);
  }

  async refresh(unasked = true) {
    clearTimeout(this.timer);
    const { asked } = this;
    if (!asked || document.hidden) return;
    if (!this.answer.isConnected) this.place(null); // its row has gone
    this.pending?.abort();
    this.pending = new AbortController();
    try {
      const view = await json('GET', '/v1/explain', { query: { rule: asked.rule, ...keyParam(asked.key) }, signal: this.pending.signal, unasked });
      if (asked !== this.asked) return;
      this.draw(view);
    } catch (fault) {
      if (fault.name === 'AbortError' || asked !== this.asked) return;
      this.fail(fault);
    }
    this.timer = setTimeout(() => this.refresh(), again);
  }

  fail(fault) {
    if (!fault.status && this.view && this.view.of === this.asked) { // what is shown was true when it was asked
      setText(byId('explain-note'), `as of ${clock(this.view.now)}: the node does not answer`);
      return;
    }
    setText(byId('explain-note'), '');
    this.answer.replaceChildren(el('p', { class: 'fault', text: fault.status ? fault.message : 'The node does not answer.' }));
  }

  draw(v) {
    this.view = { of: this.asked, now: v.now };
    setText(byId('explain-note'), `as of ${clock(v.now)}`);
    const { answer } = this;
    const selected = getSelection();
    if (!selected.isCollapsed && answer.contains(selected.anchorNode)) return; // text is selected, about to be copied
    const focused = answer.contains(document.activeElement) ? document.activeElement.dataset.does : '';
    answer.replaceChildren(verdict(v), sentences(v), this.buttons(v), facts(v), subWindows(v), ...allPoPs(v.global));
    if (focused) answer.querySelector(`[data-does="${focused}"]`)?.focus();
  }

  buttons(v) {
    const button = (does, text, click) => el('button', { type: 'button', 'data-does': does, class: 'small', text, on: { click } });
    const hand = (action) => () => this.does.hand(action, v.rule, v.key);
    return el('p', { class: 'buttons' },
      v.flag ? button('lift', v.flag.action === 'block' ? 'Unblock' : 'Lift', () => this.does.lift(v.flag)) : null,
      button('block', 'Block…', hand('block')), button('allow', 'Allow…', hand('allow')),
      v.places || v.scope === 'global' ? null : button('limit', 'Limit…', hand('limit')),
      v.limit_until ? button('unset', 'Take the limit back', () => this.does.unset(v)) : null);
  }
}

function verdict(v) {
  const denied = v.verdict === 'deny';
  const text = denied ? 'Denied' : v.shadow ? 'Allowed because the rule is in shadow' : 'Allowed';
  const why = denied || v.shadow ? { limit: usedUp(v), block: 'it is blocked', shed: 'it is shed', reserve: 'the rest is reserved for other tiers' }[v.why] : `${amount(v.remaining)} ${unitOf(v)}left`;
  return el('div', { class: `verdict ${denied ? 'no' : v.shadow ? 'would' : 'yes'}` },
    el('p', { class: 'key whole', text: v.key }),
    el('p', { class: 'answer' }, el('b', { text }), why ? `: ${why}` : ''));
}

// unitOf names the unit of what is left; "" for a window.
function unitOf(v) { return v.bucket ? `of ${amount(v.bucket.burst)} ${v.unit || 'tokens'} ` : v.places ? `of ${si(v.limit)} places ` : v.unit ? `${v.unit} ` : ''; }

function usedUp(v) { return v.places ? 'its places are taken' : v.bucket ? 'its bucket is empty' : 'its limit is used up'; }

// sentences shows the explanation of the node; at least the condition under which the key passes.
function sentences(v) {
  const texts = v.sentences?.length ? v.sentences : [v.lifted_by];
  return el('div', { class: 'sentences' }, ...texts.map((text) => el('p', {}, ...withCode(text))));
}

// withCode sets what stands between backticks as code.
function withCode(text) { return text.split('`').map((part, n) => (n % 2 ? el('code', { text: part }) : part)); }

function facts(v) {
  const counted = v.suspect ? `${whole(v.admitted)} ${v.bucket ? 'tokens taken' : 'admitted'}, ${whole(v.offered)} offered, since ${moment(v.suspect_since)}`
    : `none until the estimate reaches ${si(v.promote_at)}`;
  const rows = [
    ['rule', `${limitOf(v)} · ${v.scope} · ${v.mode}`],
    ...(v.limit_source?.startsWith('table:') ? [['limit from', `the table @${v.limit_source.slice('table:'.length)}`]] : []),
    ...(v.limit_until ? [['limit from', `${v.limit_source.slice('override:'.length)}, by hand, until ${moment(v.limit_until)}`]] : []),
    ['decided by', v.view_lost ? `${v.view} only, failure mode ${v.failure_mode}` : `counts of scope ${v.view}`],
    ...(v.places ? [] : [['exact count', counted]]),
    ...factsOf(v),
    ...(v.places ? [] : [['estimate', `${whole(v.estimate)}, at most ${si(v.error_bound)} over (${share(v.confidence)})`]]),
    ['mitigation', v.flag ? `${v.flag.action}, ${span((Date.parse(v.flag.expires) - Date.parse(v.now)) / 1000)} left` : 'none'],
  ];
  if (v.flag) rows.push(['source', sourceOf(v.flag)], ['reason', reasonOf(v.flag)]);
  if (v.ring) rows.push(['in this PoP', `${rate(v.ring.offered_rate)} at all nodes, received ${v.ring.age_seconds === null ? 'never' : `${brief(v.ring.age_seconds)} ago`}, ${whole(v.ring.unsent)} unsent`]);
  return definitions(rows);
}

// definitions returns a list of names and texts.
function definitions(rows) {
  return el('dl', { class: 'facts' }, ...rows.map(([name, text]) => el('div', {}, el('dt', { text: name }), el('dd', { text }))));
}

function subWindows(v) {
  const level = partOf(v);
  if (level) {
    const meter = el('div', { class: 'meter', role: 'img', 'aria-label': level.text });
    meter.style.setProperty('--part', Math.min(1, level.used));
    return el('figure', { class: 'level' }, meter, el('figcaption', { text: level.text }));
  }
  const most = Math.max(v.limit / 5, ...v.sub_windows.map((s) => s.estimate), 1);
  const bars = v.sub_windows.map((s) => {
    const bar = el('li', { title: `from ${clock(s.start)}: ${whole(s.estimate)}` }, el('span', { class: 'hidden', text: `from ${clock(s.start)}: ${whole(s.estimate)}` }));
    bar.style.setProperty('--part', s.estimate / most);
    return bar;
  });
  const every = v.window / Math.max(1, v.sub_windows.length - 1);
  return el('figure', { class: 'subs' }, el('ol', {}, ...bars), el('figcaption', { text: `estimate in each ${brief(every)}, newest right` }));
}
