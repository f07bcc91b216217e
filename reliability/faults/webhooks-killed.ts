import { setTimeout as sleep } from 'node:timers/promises';
import { migrateReadModels } from '../../src/read-models/prepare-tables.js';
import { createPool } from '../../src/postgres/pool.js';
import { answering, Receiver } from '../../test/support/receiver.js';
import { Rig } from '../../test/support/delivery-rig.js';
import type { Outcome, Scenario } from '../scenario.js';
import { PostgresServer } from '../rig/postgres-server.js';
import { Process } from '../rig/processes.js';
import type { RunContext } from '../rig/run-context.js';

interface Scale {
  /** How often the delivery process is killed with SIGKILL. */
  readonly kills: number;
  /** How often the database is killed with SIGKILL and restarted. */
  readonly databases: number;
  /** How often the delivery process gets SIGTERM; the in-flight request is alternately answered and not answered. */
  readonly stops: number;
  /** How soon another process must deliver, in ms. */
  readonly takeOverMs: number;
}

/** The disruptions, and how many requests each may repeat. */
const REPEATED = { kill: 1, database: 1, 'stop, answered': 0, 'stop, unanswered': 1, nothing: 0 } as const;
type Disruption = keyof typeof REPEATED;

/** Records per round; the disruption happens at a random record. */
const A_ROUND = 60;
const TIMEOUT_MS = 30_000;
/** How long a graceful shutdown may take. */
const STOPS_WITHIN = 10_000;

const until = async (condition: () => boolean, ms = TIMEOUT_MS): Promise<boolean> => {
  for (const end = Date.now() + ms; Date.now() < end; await sleep(2)) if (condition()) return true;
  return false;
};

const delivers = ({ lines }: Process): boolean => lines.some((line) => line.includes('Lease acquired'));

/** Starts a separate PostgreSQL, because it is killed. */
const startPostgres = async (context: RunContext): Promise<{ postgres: PostgresServer; rig: Rig }> => {
  const postgres = await PostgresServer.create(context);
  const url = await postgres.start();
  const pool = createPool(url, () => {});
  await migrateReadModels(pool);
  const rig = await Rig.start({ url, pool, drop: () => pool.end() });
  context.onEnd(() => rig.end());
  return { postgres, rig };
};

const disruptionsOf = ({ kills, databases, stops }: Scale): Disruption[] => [
  ...Array.from({ length: kills }, () => 'kill' as const),
  ...Array.from({ length: databases }, () => 'database' as const),
  ...Array.from({ length: stops }, (_, n) => (n % 2 === 0 ? 'stop, answered' : 'stop, unanswered')),
  'nothing',
];

const disturb = async (context: RunContext, scale: Scale, keepsCursors = true): Promise<Outcome> => {
  const { postgres, rig } = await startPostgres(context);
  const receiver = new Receiver();
  await rig.endpoint(`${await receiver.start()}/hooks`);
  context.onEnd(() => receiver.stop());
  const env = {
    DATABASE_URL: rig.database.url,
    WEBHOOK_MASTER_KEY_FILE: rig.keyFile,
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  };
  const start = (): Process => Process.start(context, 'src/deliver', env);
  const disruptions = disruptionsOf(scale);
  const expected: string[] = [];
  /** The number of received requests at the start of each round. */
  const begins: number[] = [];
  const takeOvers: number[] = [];
  const stops: number[] = [];
  const findings: string[] = [];
  const cameAtLeast = async (count: number, ms?: number): Promise<void> => {
    if (!(await until(() => receiver.received.length >= count, ms)))
      findings.push(`Only ${receiver.received.length} of ${count} requests arrived`);
  };

  let working = start();
  if (!(await until(() => delivers(working)))) findings.push('No process delivers');
  let standby = start();
  /**
   * Waits until the standby delivers.
   * @param receivedBefore the number of requests that had been received before
   */
  const changeOver = async (receivedBefore: number): Promise<void> => {
    const begin = Date.now();
    await cameAtLeast(receivedBefore + 1, scale.takeOverMs);
    takeOvers.push(Date.now() - begin);
    [working, standby] = [standby, start()];
  };
  // From this request on, responses wait until the disruption is over, so that some deliveries remain afterwards.
  let last = Infinity;
  const heldResponses: (() => void)[] = [];
  receiver.react = (one, response, request) => {
    const answer = (): void => answering(204)(one, response, request);
    if (receiver.received.length >= last) heldResponses.push(answer);
    else answer();
  };
  const goOn = (): void => {
    last = Infinity;
    for (const answer of heldResponses.splice(0)) answer();
  };
  const carryOut = async (disruption: Disruption): Promise<void> => {
    const begin = receiver.received.length;
    if (disruption === 'nothing') return goOn();
    if (disruption === 'database') {
      await postgres.kill();
      await postgres.start();
      return goOn();
    }
    if (disruption === 'kill') await working.kill();
    else {
      if (!(await until(() => heldResponses.length > 0))) findings.push('No request was in flight at a stop');
      const stopping = working.stop();
      if (disruption === 'stop, answered') goOn();
      stops.push(await stopping);
    }
    if (!keepsCursors) await rig.rows('delete from service.webhook_progress');
    goOn();
    await changeOver(disruption === 'kill' ? receiver.received.length : begin);
  };

  for (const [round, disruption] of disruptions.entries()) {
    context.reportProgress(
      `${disruption}, round ${round} of ${disruptions.length - 1}, ${receiver.received.length} requests`,
    );
    if (!(await until(() => standby.hasReportedReady || !standby.isRunning))) findings.push('No process is on standby');
    const ids = Array.from({ length: A_ROUND }, (_, n) => `r${round}-${n}`);
    const before = receiver.received.length;
    const disruptAt = before + 5 + context.random.int(A_ROUND - 20);
    last = disruption.startsWith('stop') ? disruptAt : disruptAt + 10;
    begins.push(before);
    await rig.block(ids);
    expected.push(...ids);
    await cameAtLeast(disruptAt);
    if (delivers(standby)) findings.push('Two processes deliver concurrently');
    await carryOut(disruption);
    if (!(await until(() => receiver.subjects.at(-1) === expected.at(-1))))
      findings.push(`${expected.at(-1)} did not arrive after: ${disruption}`);
    if (findings.length > 0) break;
  }

  const repeated = disruptions.map(() => 0);
  let next = 0;
  for (const [n, subject] of receiver.subjects.entries()) {
    if (subject === expected[next]) next += 1;
    else if (subject === expected[next - 1]) repeated[begins.findLastIndex((begin) => begin <= n)]! += 1;
    else findings.push(`${subject} was delivered instead of ${expected[next]}`);
    if (findings.length > 3) break;
  }
  if (next < expected.length) findings.push(`${expected.length - next} of ${expected.length} records were lost`);
  for (const [round, disruption] of disruptions.entries())
    if (repeated[round]! > REPEATED[disruption])
      findings.push(`${repeated[round]} requests were repeated in a round of: ${disruption}`);
  const slowest = Math.max(0, ...stops);
  if (slowest > STOPS_WITHIN) findings.push(`A graceful shutdown took ${slowest} ms`);
  const { kills, databases } = scale;
  return {
    workload: `${kills} kills of the process, ${databases} of the database, ${stops.length} stops, ${expected.length} records`,
    observed:
      `none lost, in order, ${repeated.reduce((sum, count) => sum + count, 0)} requests repeated, ` +
      `taken over after at most ${Math.max(0, ...takeOvers)} ms, slowest stop ${slowest} ms`,
    findings,
  };
};

export const killedDeliveries: Scenario<Scale> = {
  name: 'F29',
  what: 'under load, the delivery process is killed and stopped and its database killed, with another process on standby',
  full: { kills: 50, databases: 5, stops: 10, takeOverMs: 5_000 },
  run: (context, scale) => disturb(context, scale),
  guard: 'a cursor is durable before the next request',
  controlScale: { kills: 1, databases: 0, stops: 0 },
  withoutGuard: (context, scale) => disturb(context, scale, false),
};
