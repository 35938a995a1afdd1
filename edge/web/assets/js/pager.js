// Pages of a list, with buttons. Nothing is shown while all fits on one page.
import { el, setText } from './dom.js';
import { whole } from './format.js';

export class Pager {
  constructor(host, size, what, turned) {
    this.size = size;
    this.what = what;
    this.page = 0;
    const turn = (by) => () => {
      this.page += by;
      turned();
    };
    this.back = el('button', { type: 'button', class: 'plain', text: '‹', 'aria-label': `Previous ${what}`, on: { click: turn(-1) } });
    this.next = el('button', { type: 'button', class: 'plain', text: '›', 'aria-label': `Next ${what}`, on: { click: turn(1) } });
    this.where = el('span', { class: 'note' });
    host.append(this.where, this.back, this.next);
    this.host = host;
  }

  // cut returns the items of the present page, or of the last one when there are not so many.
  cut(items) {
    const pages = Math.max(1, Math.ceil(items.length / this.size));
    this.page = Math.min(Math.max(0, this.page), pages - 1);
    const from = this.page * this.size;
    const shown = items.slice(from, from + this.size);
    this.host.classList.toggle('single', pages === 1);
    this.back.disabled = this.page === 0;
    this.next.disabled = this.page === pages - 1;
    setText(this.where, `${whole(from + 1)}–${whole(from + shown.length)} of ${whole(items.length)}`);
    return shown;
  }
}
