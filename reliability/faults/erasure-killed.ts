import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { issueApiKey } from '../../src/api-keys/api-keys.js';
import { openEventLog } from '../../src/event-log/open-event-log.js';
import { createPool } from '../../src/postgres/pool.js';
import { migrateReadModels } from '../../src/read-models/prepare-tables.js';
import { readConfig } from '../../src/runtime/config.js';
import { NO_LIMITS } from '../../test/support/postgres.js';
import { queryOnce } from '../../test/support/query-once.js';
import { startProxy } from '../../test/support/tcp-proxy.js';
import { type Sent, sent, sentReport, sentStatus, sentThreat, stored } from '../../test/support/upstream.js';
import { PostgresServer } from '../rig/postgres-server.js';
import { call, Process } from '../rig/processes.js';
import type { RunContext } from '../rig/run-context.js';
import type { Outcome, Scenario } from '../scenario.js';

interface Scale {
  /** Half of the rounds kill the command, half kill PostgreSQL. */
  readonly rounds: number;
  /** Events of each of the two organizations; the log is rewritten in batches of 1,000 positions. */
  readonly events: number;
}

/** How long a call may take. */
const MAX_MS = 60_000;
/** The slug of the other organization begins with the slug of the erased one. */
const [ERASED, OTHER] = ['acme', 'acme-2'];
const AT = '2026-03-01T12:00:00.000Z';
const ERASE = ['organizations', 'erase', ERASED, '--confirm', ERASED];
/** The slug as a word of its own, as a regular expression of PostgreSQL. */
const WORD = `(^|[^a-z0-9-])${ERASED}([^a-z0-9-]|$)`;

/** Both organizations have the same ids, brands and assets. Every tenth event is a verdict that names both. */
const eventsOf = (organization: string, count: number): Sent[] => [
  sent('BrandRegistered', { organization, brand: 'wallet', name: 'Wallet', updatedAt: AT }),
  ...Array.from({ length: count }, (_, n) => {
    const asset = { type: 'URL', content: `phishing-${n}.example` };
    const times = { createdAt: AT, updatedAt: AT };
    if (n % 10 === 0)
      return sentStatus(`c-${n}`, {
        asset,
        createdAt: AT,
        brandReviews: [ERASED, OTHER].map((each) => ({ organization: each, brand: 'wallet' })),
      });
    return n % 2 === 0
      ? sentThreat(`t-${n}`, { organization, asset, ...times })
      : sentReport(`r-${n}`, { organization, brands: ['wallet'], ...times });
  }),
];

/** Returns everything that must be the same in every round, and how many rows still name the erased organization. */
const stateOf = async (pool: Pool): Promise<{ readonly others: string; readonly left: number }> => {
  const { rows: tables } = await pool.query<{ name: string }>(`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname in ('log', 'read', 'service') or schemaname like 'read\\_%'`);
  let left = 0;
  for (const { name } of tables)
    left += (await pool.query(`select from ${name} t where t::text ~ $1`, [WORD])).rowCount!;
  const { rows } = await pool.query<{ others: string }>(`
    select md5(string_agg(line, E'\\n' order by line)) as others from (
      select concat_ws(' ', position, event_id, stream, revision, type, data) from log.events
        where type not like 'OrganizationEras%' and type <> 'ApiKeyIssued'
      union all select r::text from read.register r
      union all select f::text from read.facts f
    ) every (line)`);
  return { others: rows[0]!.others, left };
};

/** A PostgreSQL server with a database that is copied for each round. */
class Installation {
  private rounds = 0;

  private constructor(
    private readonly context: RunContext,
    private readonly server: PostgresServer,
    private superuser: string,
  ) {}

  static async create(context: RunContext, events: number): Promise<Installation> {
    const server = await PostgresServer.create(context);
    const created = new Installation(context, server, await server.start());
    await queryOnce(created.superuser, 'create database filled');
    const url = created.urlOf('filled');
    const pool = createPool(url, () => {}, NO_LIMITS);
    await migrateReadModels(pool);
    const log = await openEventLog(readConfig({ DATABASE_URL: url }));
    for (const organization of [ERASED, OTHER]) {
      await issueApiKey(log, { organization, scopes: ['read'], name: 'a key' });
      await log.appendAll(eventsOf(organization, events).map(stored));
    }
    await log.close();
    await pool.end();
    return created;
  }

  urlOf(name: string): string {
    const url = new URL(this.superuser);
    url.pathname = `/${name}`;
    return url.href;
  }

  /** @returns the name of a new database */
  async copy(): Promise<string> {
    const name = `round_${(this.rounds += 1)}`;
    await queryOnce(this.superuser, `create database ${name} template filled`);
    return name;
  }

  async restart(): Promise<void> {
    await this.server.kill();
    this.superuser = await this.server.start();
  }

  open(name: string): Pool {
    const pool = createPool(this.urlOf(name), () => {}, NO_LIMITS);
    this.context.onEnd(() => pool.end());
    return pool;
  }
}

/**
 * Runs the command through a proxy.
 * @param onMessage called with the number of each message to the database
 * @returns the number of messages, and the exit code; null if the command was killed
 * @throws Error if the command does not end
 */
const eraseThrough = async (
  context: RunContext,
  url: string,
  onMessage: (message: number, command: Process) => void,
): Promise<{ readonly messages: number; readonly code: number | null }> => {
  const { proxy, url: through } = await startProxy(url);
  let messages = 0;
  const command = Process.start(context, 'src/cli', { DATABASE_URL: through }, { args: ERASE });
  proxy.onRequest = () => onMessage((messages += 1), command);
  const ended = await Promise.race([command.ended.then(() => true), sleep(MAX_MS, false, { ref: false })]);
  await proxy.close();
  if (!ended) throw new Error(`The command did not end within ${MAX_MS / 1_000} s: ${command.lines.join('\n')}`);
  return { messages, code: command.exitCode };
};

const killErasures = async (context: RunContext, { rounds, events }: Scale, isRepeated = true): Promise<Outcome> => {
  const installation = await Installation.create(context, events);
  const clean = await installation.copy();
  const { messages } = await eraseThrough(context, installation.urlOf(clean), () => {});
  const expected = await stateOf(installation.open(clean));
  const findings = expected.left === 0 ? [] : [`The clean run leaves ${expected.left} rows`];
  let [started, hits] = [0, 0];
  for (let round = 1; round <= rounds && findings.length < 10; round += 1) {
    started = round;
    const name = await installation.copy();
    const cutAt = 2 + context.random.int(messages - 2);
    const isDatabase = round % 2 === 0;
    const killed = isDatabase ? 'PostgreSQL' : 'the command';
    const where = `Round ${round}, ${killed} killed at message ${cutAt} of ${messages}`;
    context.reportProgress(`round ${round} of ${rounds}: ${killed} is killed at message ${cutAt} of ${messages}`);
    let restarted: Promise<unknown> = Promise.resolve();
    const first = await eraseThrough(context, installation.urlOf(name), (message, command) => {
      if (message !== cutAt) return;
      if (isDatabase) restarted = installation.restart();
      else command.signal('SIGKILL');
    });
    await restarted;
    // The number of messages differs between calls, so a call may end before the kill, or at it.
    if (first.messages > cutAt || (first.messages === cutAt && first.code !== 0)) hits += 1;
    const env = { DATABASE_URL: installation.urlOf(name) };
    const { code, output } = isRepeated ? await call(context, env, ERASE) : { code: 0, output: '' };
    if (code !== 0) findings.push(`${where}: the repeated call ended with ${code}: ${output}`);
    const { others, left } = await stateOf(installation.open(name));
    if (left > 0) findings.push(`${where}: ${left} rows still name the organization`);
    if (others !== expected.others) findings.push(`${where}: the end differs from that of a call that was not killed`);
    const verified = await call(context, env, ['projections', 'verify']);
    if (verified.code !== 0) findings.push(`${where}: projections verify: ${verified.output}`);
  }
  if (hits < started / 2) findings.push(`Only ${hits} of ${started} kills hit a running call`);
  return {
    workload:
      `${hits} kills of a running call or of its PostgreSQL, in ${started} rounds; ` +
      `two organizations of ${events} events with the same ids`,
    observed: 'the repeated call led to the same end; nothing of the organization was left; 0 differences',
    findings,
  };
};

export const killedErasure: Scenario<Scale> = {
  name: 'F36',
  what: 'the erasure of an organization is killed',
  full: { rounds: 50, events: 3_000 },
  run: (context, scale) => killErasures(context, scale),
  guard: 'a repeated call continues where the killed one stopped',
  controlScale: { rounds: 6 },
  withoutGuard: (context, scale) => killErasures(context, scale, false),
  controlFinding: /still name the organization/,
};
