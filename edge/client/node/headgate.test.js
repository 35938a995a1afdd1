'use strict';
// Against a daemon at HEADGATE_ADDR, with the rules and policies of the Go test that starts it.

const { test } = require('node:test');
const assert = require('node:assert/strict');
const dgram = require('node:dgram');
const http = require('node:http');
const { setTimeout: sleep } = require('node:timers/promises');
const { Headgate, HeadgateStore } = require('./index.js');

const hg = new Headgate({ timeout: 5000 });

// counted waits until so much is left for a client: reports are not answered.
async function counted(client, left, rule = 'login') {
  for (let n = 0; n < 2000; n++) {
    if ((await hg.peek(rule, client)).remaining === left) return;
    await sleep(10);
  }
  assert.equal((await hg.peek(rule, client)).remaining, left);
}

test('a rule', async () => {
  const key = 'a key %\né';
  const first = await hg.check('two', key);
  assert.deepEqual([first.allowed, first.verdict, first.remaining, first.view], [true, 'allow', 1, 'node']);
  assert.deepEqual(first.headers(), { RateLimit: '"two";r=1;t=60' });
  assert.equal((await hg.peek('two', key)).remaining, 1);
  assert.equal((await hg.count('two', key)).allowed, true);
  const denied = await hg.check('two', key);
  assert.deepEqual([denied.allowed, denied.verdict, denied.why, denied.status], [false, 'deny', 'limit', 429]);
  assert.equal(denied.headers()['Retry-After'], String(denied.retry));
  assert.equal((await hg.check('two', 'large', { cost: 3 })).why, 'cost');
  const many = await Promise.all(Array.from({ length: 150 }, () => hg.check('hundred', 'n')));
  assert.equal(many.filter((a) => a.allowed).length, 100);
});

test('settle and places', async () => {
  await hg.check('tokens', 'n', { cost: 0.5 });
  await hg.settle('tokens', 'n', -0.25);
  assert.equal((await hg.peek('tokens', 'n')).remaining, 9.75);
  const lease = await hg.acquire('places', 'n');
  assert.ok(lease.allowed && lease.lease);
  assert.equal((await hg.acquire('places', 'n')).allowed, false);
  assert.equal((await hg.release('places', 'n', { lease: lease.lease })).allowed, true);
  assert.equal((await hg.acquire('places', 'n', { lease: 5 })).allowed, true);
});

test('ask', async () => {
  const denied = await hg.ask({ path: '/.env', client: '203.0.113.1' });
  assert.deepEqual([denied.allowed, denied.status, denied.why], [false, 404, 'policy']);
  assert.equal((await hg.ask({ path: '/none', client: '203.0.113.1' })).verdict, 'none');
  assert.equal((await hg.ask({ path: '/v1', headers: { 'X-Api-Key': 'n-1' } })).remaining, 2);
  assert.equal((await hg.ask({ path: '/v1', headers: { 'x-api-key': ['n-1'] }, country: 'NZ' })).remaining, 1);
  assert.equal((await hg.ask({ path: '/v1', headers: { 'x-api-key': 'k'.repeat(5000) } })).status, 431);
  assert.equal((await hg.ask({ path: `/${'x'.repeat(9000)}` })).status, 414);
});

test('errors', async () => {
  const said = [];
  const closed = new Headgate({ timeout: 5000, fail: 'deny', onError: (e) => said.push(e) });
  const answer = await closed.check('no-such-rule', 'k');
  assert.deepEqual([answer.allowed, answer.error, answer.status, answer.verdict], [false, 'unknown-rule', 503, 'none']);
  assert.equal((await hg.check('no-such-rule', 'k')).allowed, true);
  const mute = dgram.createSocket('udp4');
  await new Promise((done) => { mute.bind(0, '127.0.0.1', done); });
  const slow = new Headgate({ address: `127.0.0.1:${mute.address().port}`, timeout: 20, onError: (e) => said.push(e) });
  assert.equal((await slow.check('two', 'k')).error, 'timeout');
  await new Promise((done) => { mute.close(done); });
  await slow.check('two', 'k');
  assert.match((await slow.check('two', 'k')).error, /unreachable|timeout/);
  assert.deepEqual(said.slice(0, 2), ['unknown-rule', 'timeout']);
  for (const bad of [{ fail: 'open' }, { address: 'nowhere' }, { address: 'unix:/x' }]) assert.throws(() => new Headgate(bad));
  assert.throws(() => hg.express({ trusted: ['10.0.0.0.0'] }));
  closed.close();
  slow.close();
});

test('a middleware', async (t) => {
  const front = hg.express({ trusted: ['127.0.0.0/8', '2001:db8::/32'], reportHeaders: ['x-cost'] });
  const server = http.createServer((req, res) => front(req, res, () => {
    res.statusCode = req.url === '/login' ? 401 : 200;
    res.setHeader('X-Cost', '0.3001');
    res.end('hello');
  }));
  await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
  t.after(() => server.close());
  const get = (path, client) => fetch(`http://127.0.0.1:${server.address().port}${path}`, { headers: { 'X-Forwarded-For': client } });
  assert.equal((await get('/%2eenv', '203.0.113.3')).status, 404);
  assert.equal((await get('/free', '203.0.113.3')).status, 200);
  for (let n = 0; n < 4; n++) {
    assert.equal((await get('/login', '9.9.9.9, 203.0.113.4, 2001:db8::5')).status, n < 2 ? 401 : 429);
    await counted('203.0.113.4', Math.max(1 - n, 0));
  }
  assert.equal((await get('/ai', '203.0.113.9')).headers.get('ratelimit'), '"money";r=9;t=3600');
  await counted('203.0.113.9', 9.6999, 'money'); // 0.25 before, 0.3001 after
  assert.equal((await get('/v1', '203.0.113.5')).headers.get('ratelimit'), '"api";r=2;t=60');
});

test('a store of express-rate-limit', async () => {
  const store = new HeadgateStore(hg, { rule: 'two' });
  store.init({ limit: 2 });
  const hits = [];
  for (let n = 0; n < 3; n++) hits.push((await store.increment('store')).totalHits);
  assert.deepEqual(hits, [1, 2, 3]);
  const { totalHits, resetTime } = await store.increment('store');
  assert.equal(totalHits, 3);
  assert.ok(resetTime > Date.now() && resetTime < Date.now() + 61_000);
  await store.decrement('store');
  assert.equal((await store.increment('store')).totalHits, 2);
  await assert.rejects(store.resetKey('store'), /unblock/);
  assert.throws(() => new HeadgateStore(hg, {}));
});
