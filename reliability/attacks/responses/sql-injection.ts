import type { Outcome, Scenario } from '../../scenario.js';
import { sendRequest } from '../../rig/http-request.js';
import { waitUntilCounted } from '../../rig/check.js';
import { queryOnce } from '../../../test/support/query-once.js';
import { cloudEvent, sent, sentReport, sentThreat } from '../../../test/support/upstream.js';
import { runConcurrently } from '../../rig/run-concurrently.js';
import { startNaiveService, TENANTS } from '../../rig/shared-services.js';
import type { Target } from '../../rig/target.js';

interface Scale {
  readonly payloads: number;
}

const ORGANIZATION = TENANTS[5]!;
/** Payloads with pg_sleep wait for 5 s, so a slower response means that the payload was executed. */
const MAX_MS = 4_000;
const AT = '2026-03-01T00:00:00Z';

const OPENINGS = [`'`, `"`, `')`, `'))`, `\\'`, `''`, `$$`, `$tag$`, `E'\\'`, `%27`, `\u02bc`, `\uff07`, '`', `]`, `1`];
const PAYLOADS = [
  ` or 1=1`,
  ` or 'a'='a`,
  ` and 1=0`,
  ` union select null,null,null`,
  ` union all select rolname, rolpassword from pg_authid`,
  `; select pg_sleep(5)`,
  ` || (select pg_sleep(5)) || `,
  `; drop table read.facts`,
  `; delete from log.events`,
  `; update read.days set n = 0`,
  `; copy (select 1) to program 'id'`,
  `; set role postgres`,
  `; commit; drop schema read cascade`,
  ` order by 100`,
  `) as t; truncate log.events`,
];
const ENDINGS = ['', '--', ';--', '/*', ' #', `'`];

function* payloads(): Generator<string> {
  for (const opening of OPENINGS)
    for (const payload of PAYLOADS) for (const ending of ENDINGS) yield opening + payload + ending;
}

/** Returns the tables and the number of their columns. */
const shapeOf = async (databaseUrl: string): Promise<string> => {
  const tables = await queryOnce(
    databaseUrl,
    `select table_schema, table_name, count(*)::int as columns from information_schema.columns
     where table_schema in ('read', 'service', 'log') group by 1, 2 order by 1, 2`,
  );
  const users = await queryOnce(databaseUrl, 'select rolname, rolsuper from pg_roles where rolname = current_user');
  return JSON.stringify([tables, users]);
};

const fieldsOf = (payload: string, n: number): Record<string, unknown>[] => {
  const id = `i-${n}`;
  const threat = { organization: ORGANIZATION, asset: { type: 'URL', content: payload }, status: 'BLOCKED' };
  const brand = { organization: ORGANIZATION, brand: 'brand', name: payload, updatedAt: AT };
  return [
    cloudEvent(sentThreat(id, threat, payload)),
    cloudEvent(sentThreat(payload, threat, `id-${n}`)),
    cloudEvent(sentThreat(id, { ...threat, asset: { type: payload, content: 'a.example' } }, `ty-${n}`)),
    cloudEvent(sentThreat(id, { ...threat, status: payload }, `st-${n}`)),
    cloudEvent(sentReport(id, { organization: payload }, `org-${n}`)),
    cloudEvent(sent('BrandRegistered', brand, `br-${n}`)),
    { ...cloudEvent(sentReport(id, { organization: ORGANIZATION }, `so-${n}`)), source: encodeURI(payload) },
  ];
};

const attack = async (target: Target, { payloads: many }: Scale): Promise<Outcome> => {
  const key = target.keys[ORGANIZATION]!;
  const all = [...payloads()].slice(0, many);
  const findings = new Set<string>();
  let slowest = 0;
  const call = async (what: string, path: string, question: Parameters<typeof sendRequest>[1]): Promise<any> => {
    const { status, body, ms } = await sendRequest(target.url + path, question);
    slowest = Math.max(slowest, ms);
    if (status >= 500) findings.add(`${what} got the status ${status}`);
    if (ms > MAX_MS) findings.add(`${what} takes ${Math.round(ms)} ms`);
    return { status, body };
  };
  const groups = '/v2/organization/asset-groups';
  const createdNames = new Set<string>();
  await runConcurrently(4, all.length, async (n) => {
    const payload = all[n]!;
    const text = encodeURIComponent(payload);
    const { status, body } = await call('a group’s name', groups, { key, json: { name: payload } });
    if (status === 201) createdNames.add(payload);
    if (body.rows?.length > 0) findings.add('a group’s name shows rows');
    await call('a group’s id', `${groups}/${text}`, { method: 'DELETE', key });
    await call('a brand', `/v2/organization/metrics?brandSlug=${text}`, { key });
    await call('a date', `/v2/organization/metrics?startDate=${text}&endDate=${text}`, { key });
    await call('a content', '/v2/asset/check', { key, json: { content: payload } });
    await call('an Idempotency-Key', groups, {
      key,
      headers: { 'idempotency-key': payload.replace(/[^\x20-\x7e]/g, '') },
      json: { name: `idempotent ${n}` },
    });
    await call('a field of an event', '/v2/events', { key: target.upstreamKey, events: fieldsOf(payload, n) });
  });
  const { body } = await sendRequest(target.url + groups, { key });
  const listed = new Set<string>(body.groups.map(({ name }: { name: string }) => name));
  const lost = [...createdNames].filter((name) => !listed.has(name)).length;
  if (lost > 0 || createdNames.size === 0)
    findings.add(`${lost} of ${createdNames.size} names were not returned as they were sent`);
  return {
    workload: `${all.length} payloads in 13 fields each`,
    observed: `all treated as data, ${createdNames.size} names were returned unchanged, slowest response ${Math.round(slowest)} ms`,
    findings: [...findings],
  };
};

export const sqlInjection: Scenario<Scale> = {
  name: 'S12',
  what: 'SQL injection in every field',
  asvs: { '1.2.4': 'Injection Prevention', '13.2.2': 'Backend Communication Configuration' },
  full: { payloads: 1_350 },
  run: async (_, scale, sharedServices) => {
    const target = await sharedServices.service();
    const before = await shapeOf(target.env['DATABASE_URL']!);
    const outcome = await attack(target, scale);
    await waitUntilCounted(target.url, 120_000);
    const isWhole = (await shapeOf(target.env['DATABASE_URL']!)) === before;
    return { ...outcome, findings: [...outcome.findings, ...(isWhole ? [] : ['The schema has changed'])] };
  },
  guard: 'SQL parameters instead of concatenated text',
  // Later payloads make the server without the guard sleep for 5 s, in each field.
  controlScale: { payloads: 30 },
  withoutGuard: async (context, scale) => attack(await startNaiveService(context), scale),
};
