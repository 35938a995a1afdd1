// Questions to the admin listener that served the page. Its token, where it asks for one, is asked from the person and kept
// until the tab is closed.
import { askToken } from './token.js';

const slot = 'headgate-token';

// Problem is an answer that says what is wrong (RFC 9457).
export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail || `the listener answered ${status}`);
    this.status = status;
    this.parameter = body?.parameter;
  }
}

function shownToken() {
  try { return sessionStorage.getItem(slot); } catch { return memory; } // storage may be forbidden
}

let memory = null;
let declined = false; // the operator was asked for the token and gave none

function keep(text) {
  memory = text;
  try { sessionStorage.setItem(slot, text); } catch { /* it is in memory */ }
}

// ask sends a request and returns the response, whatever its status is but one that a token may mend: then the token is asked
// for, and the request sent again. It throws Problem if none is given, TypeError if the listener does not answer. unasked marks a
// request that the page makes by itself: it does not ask for the token again after it was declined.
export async function ask(method, path, { query, body, signal, unasked } = {}) {
  const given = Object.entries(query ?? {}).filter(([, v]) => v !== undefined && v !== '');
  const url = given.length ? `${path}?${new URLSearchParams(given)}` : path;
  for (let shown = shownToken(); ; shown = shownToken()) {
    const headers = {};
    if (shown) headers.Authorization = `Bearer ${shown}`;
    if (body) headers['Content-Type'] = 'application/json';
    const answer = await fetch(url, { method, headers, body: body && JSON.stringify(body), signal, cache: 'no-store' });
    if (answer.status !== 401 && answer.status !== 403) return answer;
    const problem = new Problem(answer.status, await answer.json().catch(() => null));
    if (answer.status === 403 && problem.parameter !== 'Host') throw problem;
    if (shownToken() !== shown) continue; // it was given meanwhile
    if (unasked && declined) throw problem;
    const text = await askToken(shown ? 'This is not the token of this listener.' : problem.message);
    declined = !text;
    if (declined) throw problem;
    keep(text);
  }
}

// json asks and decodes the answer; null when there is none. It throws Problem on anything but success.
export async function json(method, path, options) {
  const answer = await ask(method, path, options);
  if (answer.status === 204) return null;
  const body = await answer.json().catch(() => null);
  if (!answer.ok) throw new Problem(answer.status, body);
  return body;
}

// keyParam returns how a key is given: as lists show it when text has escaped bytes and nothing that would have been escaped,
// else as it is. Only a key in the second form may be rejected as a network: an operator typed it, no request sends it.
export function keyParam(text) {
  return /^(?:[ -[\]-~]*\\x[0-9a-fA-F]{2})+[ -[\]-~]*$/.test(text) ? { shown: text } : { key: text };
}
