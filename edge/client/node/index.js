'use strict';
// Asks a headgate daemon whether a request may pass: over datagrams, within milliseconds.
//
//   const { Headgate } = require('headgate');
//   app.use(new Headgate().express({ trusted: ['10.0.0.0/8'] }));
//
// A question never rejects because of the daemon: where no answer comes in time, error says why and fail decides.

const dgram = require('node:dgram');
const { BlockList, isIP, isIPv4 } = require('node:net');
const { STATUS_CODES } = require('node:http');
const { randomInt } = require('node:crypto');

const mostLine = 8192 - 64; // bytes of a datagram, without room for an id
const mostValue = 4096; // bytes of a path or of a header's value
const sentHeaders = ['x-api-key', 'authorization', 'user-agent', 'cookie', 'origin', 'referer', 'content-type'];

// escaped returns the bytes of a value, with blanks, control characters and % as %XX.
function escaped(value) {
  const out = [];
  for (const b of Buffer.isBuffer(value) ? value : Buffer.from(String(value))) {
    if (b <= 0x20 || b === 0x25 || b === 0x7f) out.push(...Buffer.from(`%${b.toString(16).toUpperCase().padStart(2, '0')}`));
    else out.push(b);
  }
  return Buffer.from(out);
}

// Line is a question. What has no room is named, since a part would be another value.
class Line {
  constructor(op, ...words) {
    this.op = op;
    this.parts = [Buffer.from(op), ...words.map(escaped)];
    this.size = this.parts.reduce((sum, part) => sum + part.length + 1, 0);
    this.cut = [];
  }

  add(name, value, most = mostValue) {
    if (value === undefined || value === null || value === '') return;
    const raw = escaped(value);
    if (raw.length > 3 * most || this.size + name.length + raw.length + 2 > mostLine - 1024) {
      this.cut.push(Buffer.from(`cut=${name}`));
      return;
    }
    this.parts.push(Buffer.concat([Buffer.from(`${name}=`), raw]));
    this.size += name.length + raw.length + 2;
  }

  bytes(...more) {
    const all = [...this.parts, ...this.cut.slice(0, 16), ...more.map((text) => Buffer.from(text))];
    return Buffer.concat(all.flatMap((part, n) => (n > 0 ? [Buffer.from(' '), part] : [part])));
  }
}

const number = (text) => (text === undefined || Number.isNaN(Number(text)) ? null : Number(text));

// Answer is what the daemon says of a question; delay is in milliseconds.
class Answer {
  constructor(verdict, fields, rule, allowed = verdict !== 'deny') {
    this.error = fields.error ?? '';
    this.why = fields.why ?? '';
    this.verdict = this.error || this.why === 'none' ? 'none' : verdict === 'ok' ? 'allow' : verdict;
    this.allowed = allowed;
    this.rule = fields.rule ?? rule;
    this.remaining = number(fields.remaining);
    this.reset = number(fields.reset);
    this.retry = number(fields.retry);
    this.status = allowed ? 200 : number(fields.status) ?? (this.error ? 503 : 429);
    this.ticket = fields.ticket ?? '';
    this.lease = fields.lease ?? '';
    this.delay = number(fields.delay) ?? 0;
    this.view = fields.view ?? '';
    this.shadow = fields.shadow ?? '';
  }

  // headers returns those of a response: RateLimit, and Retry-After with a denial.
  headers() {
    const out = {};
    if (this.rule && this.remaining !== null && this.reset !== null) {
      out.RateLimit = `"${this.rule}";r=${Math.floor(this.remaining)};t=${this.reset}`;
    }
    if (!this.allowed && this.retry) out['Retry-After'] = String(Math.ceil(this.retry));
    return out;
  }

  // body returns the body of a denial, as application/problem+json (RFC 9457).
  body() {
    return JSON.stringify({ type: 'about:blank', title: STATUS_CODES[this.status] ?? 'Denied', status: this.status });
  }
}

class Headgate {
  #to;
  #far;
  #socket;
  #id = randomInt(2 ** 32);
  #waiting = new Map();

  constructor({ address = process.env.HEADGATE_ADDR || '127.0.0.1:4290', timeout = 50, fail = 'allow', onError } = {}) {
    if (fail !== 'allow' && fail !== 'deny') throw new TypeError(`fail is allow or deny, not ${fail}`);
    const [, host, port] = /^(.+):(\d+)$/.exec(address) ?? [];
    if (!host || address.startsWith('unix:')) throw new TypeError(`address is host:port, not ${address}: Node.js has no datagrams over unix sockets`);
    this.#to = { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
    this.#far = !/^(127\.|::1$|localhost$)/.test(this.#to.host);
    Object.assign(this, { timeout, fail, onError });
  }

  check(rule, key, { cost = 1, tier } = {}) {
    return this.#rule('check', rule, key, { cost, tier });
  }

  peek(rule, key, { cost = 1 } = {}) {
    return this.#rule('peek', rule, key, { cost });
  }

  count(rule, key, { cost = 1 } = {}) {
    return this.#rule('count', rule, key, { cost });
  }

  acquire(rule, key, { cost = 1, lease } = {}) {
    return this.#rule('acquire', rule, key, { cost, lease });
  }

  release(rule, key, { lease } = {}) {
    return this.#rule('release', rule, key, { lease });
  }

  settle(rule, key, delta) {
    return this.#rule('settle', rule, key, { delta: delta < 0 ? delta : `+${delta}` });
  }

  ask({ path, method = 'GET', host, client, headers = {}, ...fields }) {
    const line = new Line('ask');
    for (const [name, value] of Object.entries({ method, host, client, ...fields })) line.add(name, value, 256);
    const whole = Buffer.from(path);
    line.add('path', whole.subarray(0, mostValue));
    if (whole.length > mostValue) line.cut.push(Buffer.from('cut=path'));
    for (const [name, values] of Object.entries(headers)) {
      for (const value of [values].flat()) line.add(`header.${name.toLowerCase()}`, value);
    }
    return this.#ask(line, '');
  }

  // report says how a request with a ticket ended. No answer is waited for.
  async report(answerOrTicket, { status, headers = {}, cost } = {}) {
    const ticket = answerOrTicket?.ticket ?? answerOrTicket;
    if (!ticket) return;
    const line = new Line('report');
    line.add('ticket', ticket);
    line.add('status', status);
    line.add('cost', cost);
    for (const [name, value] of Object.entries(headers)) line.add(`response.header.${name.toLowerCase()}`, value);
    await this.#send(line.bytes()).catch(() => this.#failed('unreachable', ''));
  }

  close() {
    this.#socket?.then((socket) => socket.close(), () => {});
    this.#socket = undefined;
    for (const done of this.#waiting.values()) done(null);
  }

  #rule(op, rule, key, { cost = 1, ...options }) {
    const line = new Line(op, rule, key);
    if (cost !== 1) line.add('cost', cost);
    for (const [name, value] of Object.entries(options)) line.add(name, value);
    return this.#ask(line, rule);
  }

  // #open returns the socket, connected; one that failed is opened again.
  #open() {
    this.#socket ??= new Promise((resolve, reject) => {
      const socket = dgram.createSocket(this.#to.host.includes(':') ? 'udp6' : 'udp4');
      socket.unref(); // an idle client does not keep the process alive
      socket.on('message', (data) => this.#received(data));
      socket.on('error', (error) => {
        this.#socket = undefined;
        reject(error);
        try {
          socket.close();
        } catch { /* it is closed */ }
        for (const done of this.#waiting.values()) done(null);
      });
      socket.connect(this.#to.port, this.#to.host, () => resolve(socket));
    });
    return this.#socket;
  }

  async #send(bytes) {
    const socket = await this.#open();
    await new Promise((resolve, reject) => socket.send(bytes, (error) => (error ? reject(error) : resolve())));
  }

  #received(data) {
    const [first, verdict, ...words] = data.toString().trim().split(/\s+/);
    const done = this.#waiting.get(first.slice(3));
    if (!done) return;
    const fields = Object.fromEntries(words.filter((w) => w.includes('=')).map((w) => w.split(/=(.*)/s, 2)));
    if (verdict === 'error') fields.error = words[0] ?? 'error';
    else if (!['allow', 'deny', 'ok'].includes(verdict)) fields.error = 'unreadable';
    done({ verdict, fields });
  }

  async #ask(line, rule) {
    const id = (this.#id = (this.#id + 1) % 2 ** 47).toString(16);
    const pad = this.#far && line.op !== 'ask' ? Math.max(1, 140 - line.size) : 0; // off loopback no reply is longer than its question
    let late;
    const reply = await new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      late = setTimeout(() => resolve('timeout'), this.timeout);
      this.#send(line.bytes(`id=${id}`, ...(pad ? [`x=${'.'.repeat(pad)}`] : []))).catch(() => resolve(null));
    });
    clearTimeout(late);
    this.#waiting.delete(id);
    if (reply === 'timeout') return this.#failed('timeout', rule);
    if (reply === null) return this.#failed('unreachable', rule);
    if (reply.fields.error) return this.#failed(reply.fields.error, rule);
    return new Answer(reply.verdict, reply.fields, rule);
  }

  #failed(error, rule) {
    this.onError?.(error);
    return new Answer('none', { error }, rule, this.fail === 'allow');
  }

  // express returns a middleware: a request asks the policies, or rule by key(req).
  express(options = {}) {
    const front = new Front(this, options);
    return (req, res, next) => {
      front.ask(req, req.originalUrl ?? req.url).then(async (answer) => {
        front.announce(answer, (name, value) => res.setHeader(name, value));
        if (!answer.allowed) {
          res.statusCode = answer.status;
          res.setHeader('Content-Type', 'application/problem+json');
          res.end(answer.body());
          return;
        }
        if (answer.ticket) {
          res.once('close', () => this.report(answer, { status: res.statusCode, headers: front.reported((n) => res.getHeader(n)) }));
        }
        await front.wait(answer);
        next();
      }, next);
    };
  }

  // fastify returns a plugin that does the same for every route beside it.
  fastify(options = {}) {
    const front = new Front(this, options);
    const answers = new WeakMap();
    const plugin = async (app) => {
      app.addHook('onRequest', async (req, reply) => {
        const answer = await front.ask(req.raw, req.raw.url);
        front.announce(answer, (name, value) => reply.header(name, value));
        if (!answer.allowed) {
          return reply.code(answer.status).type('application/problem+json').send(answer.body());
        }
        answers.set(req.raw, answer);
        await front.wait(answer);
      });
      app.addHook('onResponse', async (req, reply) => {
        const answer = answers.get(req.raw);
        if (answer?.ticket) await this.report(answer, { status: reply.statusCode, headers: front.reported((n) => reply.getHeader(n)) });
      });
    };
    plugin[Symbol.for('skip-override')] = true; // for the routes of the application, not only its own
    return plugin;
  }
}

// Front is what the middlewares have in common.
class Front {
  constructor(hg, { trusted = [], rule, key, headers = sentHeaders, reportHeaders = [] }) {
    Object.assign(this, { hg, rule, key, headers, reportHeaders, trusted: new BlockList() });
    for (const text of trusted) {
      const [address, bits] = text.split('/');
      const family = isIPv4(address) ? 'ipv4' : 'ipv6';
      if (!isIP(address)) throw new TypeError(`trusted has networks, not ${text}`);
      this.trusted.addSubnet(address, Number(bits ?? (family === 'ipv4' ? 32 : 128)), family);
    }
  }

  trusts(address) {
    return isIP(address) > 0 && this.trusted.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
  }

  // client returns the rightmost address of X-Forwarded-For that is not trusted, behind a trusted peer.
  client(req) {
    const plain = (address) => address.replace(/^::ffff:(?=\d+\.)/i, '');
    let client = plain(req.socket?.remoteAddress ?? '');
    const hops = String(req.headers['x-forwarded-for'] ?? '').split(',').map((text) => plain(text.trim())).filter(Boolean);
    while (this.trusts(client) && hops.length > 0) {
      const next = hops.pop();
      if (!isIP(next)) break;
      client = next;
    }
    return client;
  }

  ask(req, path) {
    const client = this.client(req);
    if (this.rule) return this.hg.check(this.rule, this.key ? this.key(req) : client);
    const headers = {};
    for (const name of this.headers) headers[name] = req.headers[name.toLowerCase()];
    return this.hg.ask({ path, method: req.method, host: req.headers.host, client, headers, delay: 'ok' });
  }

  announce(answer, set) {
    for (const [name, value] of Object.entries(answer.headers())) set(name, value);
  }

  reported(get) {
    return Object.fromEntries(this.reportHeaders.map((name) => [name, get(name)]));
  }

  async wait(answer) {
    if (answer.delay) await new Promise((resolve) => { setTimeout(resolve, Math.min(answer.delay, 60_000)); });
  }
}

// HeadgateStore is a store for express-rate-limit 7 and 8. A rule of the daemon counts and decides; the limit of the middleware
// should be the rule's, as its headers are made of that.
class HeadgateStore {
  constructor(hg, { rule }) {
    if (!rule) throw new TypeError('HeadgateStore needs a rule');
    Object.assign(this, { hg, rule, localKeys: false, limit: Infinity });
  }

  init(options) {
    const limit = options.limit ?? options.max;
    if (typeof limit === 'number') this.limit = limit;
  }

  async increment(key) {
    return this.#hits(await this.hg.check(this.rule, key), 1);
  }

  async get(key) {
    return this.#hits(await this.hg.peek(this.rule, key), 0);
  }

  async decrement(key) {
    await this.hg.settle(this.rule, key, -1);
  }

  async resetKey() {
    throw new Error('a count is ended by the daemon: headgate unblock RULE KEY');
  }

  #hits(answer, least) {
    const limit = Number.isFinite(this.limit) ? this.limit : Number.MAX_SAFE_INTEGER - 1;
    const used = answer.remaining === null || !Number.isFinite(this.limit) ? least : Math.max(least, limit - answer.remaining);
    return {
      totalHits: answer.allowed ? Math.min(used, limit) : limit + 1,
      resetTime: new Date(Date.now() + 1000 * (answer.retry ?? answer.reset ?? 0)),
    };
  }
}

module.exports = { Headgate, HeadgateStore };
