// The first steps, shown until a proxy has asked: a request by hand, the commands for each proxy, and what each listener received.
import { byId, el, keyed, setText } from './dom.js';
import { plural, span } from './format.js';
import { asked } from './headline.js';

const example = '203.0.113.7'; // an address for examples (RFC 5737)

// start shows the first steps as of now, in ms, and hides them once something has asked.
export function start(view, now) {
  const fresh = !asked(view);
  byId('start').hidden = !fresh;
  document.body.classList.toggle('fresh', fresh);
  if (!fresh) return;
  setText(byId('start-note'), `started ${span((now - Date.parse(view.started)) / 1000)} ago`);
  const rule = tightest(view.rules)?.name ?? 'RULE';
  const [udp, http] = ['udp', 'http'].map((protocol) => view.doors?.find((d) => d.protocol === protocol)?.addresses[0]);
  setText(byId('start-udp'), udp && !udp.startsWith('unix:') ? `echo 'check ${rule} ${example}' | nc -u -w1 ${host(udp).join(' ')}` : `headgate check ${rule} ${example}`);
  setText(byId('start-http'), http && !http.startsWith('unix:') ? `curl -i '${'http:'}//${host(http).join(':')}/v1/check?rule=${rule}&key=${example}'` : '');
  byId('start-http').parentNode.hidden = !byId('start-http').textContent;
  keyed(byId('start-doors'), view.doors ?? [], {
    key: (d) => d.protocol,
    make: () => el('div', {}, el('dt'), el('dd', {}, el('span', { class: 'key whole' }), el('span', { class: 'quiet' }))),
    update(row, d) {
      setText(row.firstChild, d.protocol.toUpperCase());
      setText(row.lastChild.firstChild, d.addresses.join(', ') || 'no listener');
      setText(row.lastChild.lastChild, d.protocol === 'udp' ? plural(d.asked, 'request') : plural(d.asked, 'connection'));
    },
  });
}

// tightest returns the enforced rule with the smallest limit, by which a first deny comes soonest; else one in shadow.
function tightest(rules) {
  const rank = (r) => ({ enforce: 0, shadow: 1 }[r.mode] ?? 2);
  return [...rules].sort((a, b) => rank(a) - rank(b) || a.limit - b.limit)[0];
}

// host splits an address, and makes one that means every interface one that can be asked from this machine.
function host(address) {
  const at = address.lastIndexOf(':');
  const name = address.slice(0, at);
  return [{ '': '127.0.0.1', '0.0.0.0': '127.0.0.1', '[::]': '127.0.0.1' }[name] ?? name, address.slice(at + 1)];
}
