// The sketch of each window length: how full it is, and how far an estimate can be off.
import { byId, el, keyed, setAttr, setText, setVar } from './dom.js';
import { share, si, span } from './format.js';

export function sketches(list) {
  keyed(byId('sketch-table').tBodies[0], list ?? [], {
    key: (s) => s.window,
    make: () => el('tr', {}, el('th', { scope: 'row' }), el('td', {}, el('span', { class: 'fill' }), el('span', { class: 'said' })), el('td', { class: 'num' }), el('td', { class: 'num' })),
    update(row, s) {
      const [window, fill, bound, floor] = row.cells;
      setText(window, span(s.window));
      setVar(fill.firstChild, '--part', s.fill);
      setAttr(fill.firstChild, 'data-over', s.saturated ? 'yes' : null);
      setText(fill.lastChild, s.saturated ? `${share(s.fill)}, saturated` : share(s.fill));
      setText(bound, si(s.error_bound));
      setText(floor, si(s.noise_floor));
    },
  });
}
