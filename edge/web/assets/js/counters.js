// The estimating counters of each window length: how full they are, and how far an estimate can be off.
import { byId, el, keyed, setAttr, setText, setVar } from './dom.js';
import { plural, share, span } from './format.js';

// counters shows list, one for each window length.
export function counters(list) {
  keyed(byId('counters-table').tBodies[0], list ?? [], {
    key: (s) => s.window,
    make: () => el('tr', {}, el('th', { scope: 'row' }), el('td', {}, el('span', { class: 'fill' }), el('span')), el('td', { class: 'num' }), el('td', { class: 'num' })),
    update(row, s) {
      const [window, fill, bound, floor] = row.cells;
      setText(window, span(s.window));
      setVar(fill.firstChild, '--part', s.fill);
      setAttr(fill.firstChild, 'data-over', s.saturated ? 'yes' : null);
      setText(fill.lastChild, s.saturated ? `${share(s.fill)}, too full` : share(s.fill));
      setText(bound, plural(s.error_bound, 'unit'));
      setText(floor, s.noise_floor === 0 ? '0' : plural(s.noise_floor, 'unit'));
    },
  });
}
