// How numbers, times and keys are written. Pure functions; thin no-break spaces keep a figure and its unit together.

const thin = '\u202f';
const prefixes = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']];

// si writes a whole number below ten million whole, else three significant digits and an SI prefix: 0, 0.42, 950, 1 234, 45.6 M.
export function si(n) {
  return Number.isInteger(n) && Math.abs(n) < 1e7 ? whole(n) : scaled(n);
}

function scaled(n) {
  if (n === null || n === undefined || !Number.isFinite(n)) return '–';
  const size = Math.abs(n);
  for (const [unit, prefix] of prefixes) {
    if (size >= unit * 0.9995) return digits(n / unit) + thin + prefix;
  }
  return digits(n);
}

function digits(n) {
  const size = Math.abs(n);
  if (size === 0 || size < 0.005) return '0';
  if (Number.isInteger(n) && size < 1000) return String(n);
  return n.toFixed(decimals(size));
}

function decimals(size) { return size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2; }

// rate writes a number a second with one decimal. A rate that is not quite none is never written as that.
export function rate(n) {
  if (n === null || n === undefined || !Number.isFinite(n)) return '–';
  const [unit, prefix] = prefixes.find(([unit]) => Math.abs(n) >= unit * 0.9995) ?? [1, ''];
  const x = n / unit;
  const text = x === 0 ? '0' : Math.abs(x) < 0.1 ? '<0.1' : x.toFixed(1);
  return `${text}${prefix && thin}${prefix}/s`;
}

// share writes a part of 1 in per cent. What is not quite none, or not quite all, is never written as that.
export function share(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return '–';
  const percent = x * 100;
  if (percent <= 0) return `0${thin}%`;
  if (percent < 0.1) return `<${thin}0.1${thin}%`;
  if (percent > 99.9 && percent < 100) return `>${thin}99.9${thin}%`;
  return `${percent.toFixed(percent < 10 || percent >= 99.5 && percent < 100 ? 1 : 0)}${thin}%`;
}

// whole writes every digit of n, in groups of three, and up to six behind the point.
export function whole(n) {
  if (!Number.isFinite(n)) return '–';
  const [units, behind] = n.toFixed(6).split('.');
  return units.replace(/\B(?=(\d{3})+$)/g, thin) + `.${behind}`.replace(/\.?0+$/, '');
}

// amount writes cost: whole units as si does, of others every digit.
export function amount(n) { return Number.isInteger(n) ? si(n) : whole(n); }

// span writes a number of seconds by its two greatest units: 8s, 9m 58s, 3h 20m, 2d 4h.
export function span(seconds) {
  if (!Number.isFinite(seconds)) return '–';
  let s = Math.max(0, Math.ceil(seconds));
  const parts = [];
  for (const [unit, size] of [['d', 86400], ['h', 3600], ['m', 60], ['s', 1]]) {
    const n = Math.floor(s / size);
    s -= n * size;
    if (n > 0 || parts.length) parts.push(n > 0 ? `${n}${unit}` : '');
    if (parts.length === 2) break;
  }
  return parts.filter(Boolean).join(thin) || '0s';
}

// brief writes a duration from nanoseconds to days: 340 µs, 12 ms, 1.5 s, 2m 5s.
export function brief(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return '–';
  if (seconds >= 100) return span(seconds);
  if (seconds >= 1) return `${digits(seconds)}${thin}s`;
  if (seconds >= 1e-3) return `${digits(seconds * 1e3)}${thin}ms`;
  return `${digits(seconds * 1e6)}${thin}µs`;
}

// bytes writes a size in bytes.
export function bytes(n) { return `${scaled(n)}${n >= 1000 ? '' : thin}B`; }

const two = (n) => String(n).padStart(2, '0');

// clock writes a time of day, as it is here: 14:03:09.
export function clock(time) {
  const t = time instanceof Date ? time : new Date(time);
  return `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
}

// moment writes a time with its date where that is not today's.
export function moment(time) {
  const t = new Date(time);
  const today = new Date().toDateString() === t.toDateString();
  return today ? clock(t) : `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${clock(t)}`;
}

// plural writes a count with its noun.
export function plural(n, noun, more = `${noun}s`) { return `${si(n)} ${n === 1 ? noun : more}`; }
