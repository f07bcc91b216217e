import type { Outcome, Scenario } from '../../scenario.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendRequest } from '../../rig/http-request.js';
import { call } from '../../rig/processes.js';
import { eventually } from '../../../test/support/eventually.js';
import { queryOnce } from '../../../test/support/query-once.js';
import { cloudEvent, sentReport } from '../../../test/support/upstream.js';
import type { RunContext } from '../../rig/run-context.js';
import { runConcurrently } from '../../rig/run-concurrently.js';
import { sendAll } from '../../rig/send-all.js';
import { startAttackTarget, type RunningService, TENANTS } from '../../rig/shared-services.js';

interface Scale {
  readonly keys: number;
  readonly guesses: number;
  /** How long a revoked key may still be accepted, in ms. */
  readonly revokedMs: number;
}

const KEY = /^tp_[0-9A-Za-z]{36}$/;

/** Returns the content of all tables as text. */
export const dump = async (databaseUrl: string): Promise<string> => {
  const tables = await queryOnce<{ name: string }>(
    databaseUrl,
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
     where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
  );
  let text = '';
  for (const { name } of tables)
    text += JSON.stringify(await queryOnce(databaseUrl, `select t.*, t::text as whole from ${name} t`));
  return text;
};

const transactions = async (databaseUrl: string): Promise<number> => {
  const text = 'select xact_commit as n from pg_stat_database where datname = current_database()';
  return Number((await queryOnce<{ n: string }>(databaseUrl, text))[0]!.n);
};

/** Returns the key with one changed character. */
const mistyped = (key: string, n: number): string => {
  const at = 3 + (n % 36);
  return key.slice(0, at) + (key[at] === 'x' ? 'y' : 'x') + key.slice(at + 1);
};

const findPlaintext = (target: RunningService, databaseText: string, keys: readonly string[]): string[] => {
  const output = target.output();
  const inDatabase = keys.filter((key) => databaseText.includes(key)).length;
  const inLogs = keys.filter((key) => output.includes(key)).length;
  return [
    ...(inDatabase > 0 ? [`${inDatabase} keys are in the database in plaintext`] : []),
    ...(inLogs > 0 ? [`${inLogs} keys are in the logs in plaintext`] : []),
  ];
};

const guess = async (target: RunningService, key: string, guesses: number): Promise<string[]> => {
  const before = await transactions(target.env['DATABASE_URL']!);
  const texts = new Set<string>();
  let accepted = 0;
  const begin = Date.now();
  await runConcurrently(8, guesses, async (n) => {
    const { status, body } = await sendRequest(`${target.url}/v2/organization/metrics`, { key: mistyped(key, n) });
    if (status !== 401) accepted += 1;
    texts.add(JSON.stringify(body));
  });
  const tookMs = Date.now() - begin;
  const after = await transactions(target.env['DATABASE_URL']!);
  // The service polls the database, so the transactions of the same time without guesses are subtracted.
  await sleep(tookMs);
  const idle = (await transactions(target.env['DATABASE_URL']!)) - after;
  const queries = after - before - idle;
  return [
    ...(accepted > 0 ? [`${accepted} mistyped keys were accepted`] : []),
    ...(texts.size > 1 ? [`Wrong keys are rejected in ${texts.size} ways`] : []),
    ...(queries > guesses / 2 ? [`${guesses} wrong keys cost ${queries} transactions`] : []),
  ];
};

const rollAndRevoke = async (
  context: RunContext,
  target: RunningService,
  revokedMs: number,
): Promise<{ tookMs: number; findings: string[] }> => {
  const findings: string[] = [];
  const read = async (key: string): Promise<number> =>
    (await sendRequest(`${target.url}/v2/organization/metrics`, { key })).status;
  const [first, second] = [await target.issue(['read'], 'rolled'), await target.issue(['read'], 'rolled')];
  if ((await read(first.key)) !== 200 || (await read(second.key)) !== 200)
    findings.push('An organization could not use two keys concurrently');
  const { code } = await call(context, target.env, ['keys', 'revoke', first.id]);
  const begin = Date.now();
  if (code !== 0) findings.push(`keys revoke ended with ${code}`);
  await eventually('the revoked key is refused', async () => (await read(first.key)) === 401);
  const tookMs = Date.now() - begin;
  if (tookMs > revokedMs) findings.push(`A revoked key was accepted for ${tookMs} ms`);
  if ((await read(second.key)) !== 200) findings.push('Revoking one key invalidated another');
  const inQuery = `${target.url}/v2/organization/metrics?x-api-key=${second.key}&X-API-KEY=${second.key}`;
  if ((await sendRequest(inQuery)).status !== 401) findings.push('A key in the query string was accepted');
  return { tookMs, findings };
};

const attack = async (
  context: RunContext,
  target: RunningService,
  { keys: many, guesses, revokedMs }: Scale,
): Promise<Outcome> => {
  const issued = [...Object.values(target.keys), ...Object.values(target.ingestKeys), target.upstreamKey];
  for (let n = 0; n < many; n += 1) issued.push((await target.issue(['read'], TENANTS[n % TENANTS.length]!)).key);
  const findings = issued.every((key) => KEY.test(key)) ? [] : ['A key is not of the form that scanners look for'];
  // Keys have 178 random bits. Distinct beginnings show that keys are not derived from the clock.
  if (new Set(issued.map((key) => key.slice(3, 9))).size < issued.length) findings.push('Keys have equal beginnings');
  const { tookMs, findings: rolled } = await rollAndRevoke(context, target, revokedMs);
  findings.push(...rolled, ...(await guess(target, issued[0]!, guesses)));
  findings.push(...findPlaintext(target, await dump(target.env['DATABASE_URL']!), issued));
  return {
    workload: `${issued.length} keys, ${guesses} guesses with one wrong character`,
    observed: `no key in plaintext in any table or log, revoked within ${tookMs} ms, no database query for a wrong key`,
    findings,
  };
};

export const keys: Scenario<Scale> = {
  name: 'S2',
  what: 'keys are guessed, mistyped and revoked, and searched for in the database and the logs',
  asvs: {
    '11.5.1': 'Random Values',
    '8.3.2': 'Operation Level Authorization',
    '14.2.1': 'General Data Protection',
    '6.3.8': 'General Authentication Security',
  },
  full: { keys: 200, guesses: 20_000, revokedMs: 1_000 },
  everyChange: { keys: 5, guesses: 500, revokedMs: Infinity },
  run: async (context, scale, sharedServices) => attack(context, await sharedServices.service(), scale),
  guard: 'only the digest of a key is stored',
  // Stores a key in plaintext.
  withoutGuard: async (context) => {
    const target = await startAttackTarget(context);
    const { key } = await target.issue(['read'], 'acme');
    await sendAll(target, target.upstreamKey, [cloudEvent(sentReport('r', {}, key))]);
    const findings = findPlaintext(target, await dump(target.env['DATABASE_URL']!), [key]);
    return { workload: 'one key', observed: '-', findings };
  },
  controlFinding: /keys are in the database in plaintext$/,
};
