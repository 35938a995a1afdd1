// The height of a table: as many rows as it had at most in the last half minute, so that rows that come and go move nothing below
// it, and a table of few rows leaves no hole.
import { setVar } from './dom.js';

const roomLasts = 30000; // ms
const none = 2; // rows of room for the text that stands for no rows

export class Room {
  constructor(area) {
    this.area = area;
    this.rows = 0;
    this.since = -Infinity;
  }

  // fit makes room for n rows at once, and gives up room that was not used for a while.
  fit(n, now = performance.now()) {
    const rows = n || none;
    if (rows < this.rows && now - this.since < roomLasts) return;
    this.rows = rows;
    this.since = now;
    setVar(this.area, '--rows', rows);
  }
}
