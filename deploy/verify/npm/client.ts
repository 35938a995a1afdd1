// A program with the types that openapi-typescript makes of docs/openapi.json: it asks for a
// decision, and lists the rules. node client.ts DECISIONS ADMIN

import type { components, operations } from './openapi.d.ts';

type Decision = components['schemas']['Decision'];
type Rules = operations['listRules']['responses'][200]['content']['application/json'];

async function read<T>(url: string): Promise<T> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
  return (await answer.json()) as T;
}

const [decisions, admin] = process.argv.slice(2);
const query: operations['check']['parameters']['query'] = { rule: 'per-ip', key: '192.0.2.7' };
const is = await read<Decision>(`${decisions}/v1/check?rule=${query.rule}&key=${query.key}`);
const { rules } = await read<Rules>(`${admin}/v1/rules`);
console.log(is.verdict, rules.map((r) => `${r.name}:${r.limit}`).join(' '));
