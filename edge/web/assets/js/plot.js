// A rule's plot: admitted cost as an area, denied cost above it, offered cost as a line over both.
import { el } from './dom.js';
import { clock, si } from './format.js';

const height = 116;

// tokens are the colours of the theme as probe has them, asked once a theme: a canvas knows no CSS.
const tokens = new Map();
const probe = document.body.appendChild(el('i', { hidden: true }));
document.addEventListener('theme', () => tokens.clear());

function ink(name) {
  if (!tokens.has(name)) {
    probe.style.color = `var(--${name})`;
    tokens.set(name, getComputedStyle(probe).color);
  }
  return tokens.get(name);
}

// stack turns a rule's columns into what is drawn: x, offered, the top of the denied cost, the cost that passed, the same again
// as the top of the cost that enforcement would have denied, and the cost that it would have let pass.
export function stack([x, offered, admitted, denied, shadow], inShadow) {
  const sum = (a, b) => a.map((v, n) => (v === null || b[n] === null ? null : v + b[n]));
  const passed = sum(admitted, shadow);
  const would = (y) => (inShadow ? y : x.map(() => null));
  return [x, offered, sum(passed, denied), passed, would(passed), would(admitted)];
}

// Plot draws in host. hovered(index) is called with the step under the pointer, in any of the plots; null: none.
export class Plot {
  constructor(host, hovered) {
    this.host = host;
    this.end = 0;
    this.kept = 900;
    this.chart = new uPlot(this.options(hovered), [[], [], [], [], [], []], host);
    this.resized = new ResizeObserver(() => this.fit());
    this.resized.observe(host);
    this.repaint = () => this.chart.redraw(false, true);
    document.addEventListener('theme', this.repaint);
  }

  options(hovered) {
    return {
      width: Math.max(120, this.host.clientWidth), height,
      padding: [8, 6, 0, 0],
      legend: { show: false },
      cursor: {
        y: false, points: { show: false }, drag: { x: false, y: false }, sync: { key: 'rules', setSeries: false },
      },
      scales: { x: { time: true, range: () => [this.end - this.kept, this.end] }, y: { range: (_, __, top) => [0, top > 0 ? top * 1.08 : 1] } },
      axes: [axis({ size: 22, space: 70, values: (u, at) => at.map((x) => (u.valToPos(x, 'x') > u.over.clientWidth - 16 ? '' : clock(x * 1000).slice(0, 5))) }), axis({ size: 46, space: 28, values: (_, at) => at.map((n) => si(n)) })],
      series: [
        {},
        { label: 'offered', stroke: () => ink('ink-2'), width: 1, points: { show: false } },
        { label: 'denied', points: { show: false } },
        { label: 'admitted', stroke: () => ink('in'), width: 1.5, fill: () => ink('in-fill'), points: { show: false } },
        { label: 'would be denied', points: { show: false } },
        { label: 'would be admitted', stroke: () => ink('out'), width: 1.25, dash: [4, 3], points: { show: false } },
      ],
      bands: [{ series: [2, 3], fill: () => ink('out-fill') }, { series: [4, 5], fill: () => ink('out-faint') }],
      hooks: { setCursor: [(u) => hovered(u.cursor.left < 0 ? null : u.cursor.idx)] },
    };
  }

  // draw shows columns as of end, in unix seconds, over the last kept seconds.
  draw(columns, end, kept) {
    this.end = end;
    this.kept = kept;
    this.chart.setData(columns);
  }

  fit() {
    const width = Math.floor(this.host.clientWidth);
    if (width > 0 && width !== this.chart.width) this.chart.setSize({ width, height });
  }

  remove() {
    this.resized.disconnect();
    document.removeEventListener('theme', this.repaint);
    this.chart.destroy();
  }
}

function axis(more) {
  const line = { stroke: () => ink('line'), width: 1 };
  return { stroke: () => ink('ink-3'), font: '11px system-ui, sans-serif', grid: line, ticks: { show: false }, gap: 4, ...more };
}
