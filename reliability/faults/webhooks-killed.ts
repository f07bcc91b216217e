import { setTimeout as sleep } from 'node:timers/promises';
import { migrateReadModels } from '../../src/read-models/migrate.js';
import { createPool } from '../../src/postgres/pool.js';
import { answering, Receiver } from '../../test/webhooks/delivery/receiver.js';
import { Rig } from '../../test/webhooks/delivery/rig.js';
import type { Outcome, Scenario } from '../scenario.js';
import { OwnPostgres } from '../rig/own-postgres.js';
import { Process } from '../rig/processes.js';
import type { Scene } from '../rig/scene.js';

interface Dose {
  /** kill -9 of the process that delivers. */
  readonly kills: number;
  /** kill -9 of the database, which is started again. */
  readonly databases: number;
  /** SIGTERM, in turn with a request in flight that is answered, and with one that is not. */
  readonly stops: number;
  /** How long it may take until another process delivers. ms */
  readonly takeOverMs: number;
}

/** What happens in a round, and how many requests it may repeat. */
const REPEATED = { kill: 1, database: 1, 'stop, answered': 0, 'stop, unanswered': 1, nothing: 0 } as const;
type Deed = keyof typeof REPEATED;

/** Records a round; the deed comes somewhere among them. */
const A_ROUND = 60;
const TIMEOUT_MS = 30_000;
/** How long an orderly stop may take. ms */
const STOPS_WITHIN = 10_000;

const until = async (condition: () => boolean, ms = TIMEOUT_MS): Promise<boolean> => {
  for (const end = Date.now() + ms; Date.now() < end; await sleep(2)) if (condition()) return true;
  return false;
};

const delivers = ({ lines }: Process): boolean => lines.some((line) => line.includes('Lease acquired'));

/** A server of its own, because everybody else's would be killed with it. */
const startPostgres = async (scene: Scene): Promise<{ postgres: OwnPostgres; rig: Rig }> => {
  const postgres = await OwnPostgres.create(scene);
  const url = await postgres.start();
  const pool = createPool(url, () => {});
  await migrateReadModels(pool);
  const rig = await Rig.start({ url, pool, drop: () => pool.end() });
  scene.later(() => rig.end());
  return { postgres, rig };
};

const deedsOf = ({ kills, databases, stops }: Dose): Deed[] => [
  ...Array.from({ length: kills }, () => 'kill' as const),
  ...Array.from({ length: databases }, () => 'database' as const),
  ...Array.from({ length: stops }, (_, n) => (n % 2 === 0 ? 'stop, answered' : 'stop, unanswered')),
  'nothing',
];

const disturb = async (scene: Scene, dose: Dose, keepsCursors = true): Promise<Outcome> => {
  const { postgres, rig } = await startPostgres(scene);
  const receiver = new Receiver();
  await rig.endpoint(`${await receiver.start()}/hooks`);
  scene.later(() => receiver.stop());
  const env = {
    DATABASE_URL: rig.database.url,
    WEBHOOK_MASTER_KEY_FILE: rig.keyFile,
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  };
  const start = (): Process => Process.start(scene, 'src/deliver', env);
  const deeds = deedsOf(dose);
  const due: string[] = [];
  /** How many requests had come when a round began. */
  const begins: number[] = [];
  const takeOvers: number[] = [];
  const stops: number[] = [];
  const findings: string[] = [];
  const cameAtLeast = async (count: number, ms?: number): Promise<void> => {
    if (!(await until(() => receiver.received.length >= count, ms)))
      findings.push(`Only ${receiver.received.length} of ${count} requests came`);
  };

  let working = start();
  if (!(await until(() => delivers(working)))) findings.push('Nobody delivers');
  let standby = start();
  /** @param had requests that came before it */
  const changeOver = async (had: number): Promise<void> => {
    const begin = Date.now();
    await cameAtLeast(had + 1, dose.takeOverMs);
    takeOvers.push(Date.now() - begin);
    [working, standby] = [standby, start()];
  };
  // From this request on none is answered before the deed is done, so that something is left for afterwards.
  let last = Infinity;
  const held: (() => void)[] = [];
  receiver.react = (one, response, request) => {
    const answer = (): void => answering(204)(one, response, request);
    if (receiver.received.length >= last) held.push(answer);
    else answer();
  };
  const goOn = (): void => {
    last = Infinity;
    for (const answer of held.splice(0)) answer();
  };
  const act = async (deed: Deed): Promise<void> => {
    const begin = receiver.received.length;
    if (deed === 'nothing') return goOn();
    if (deed === 'database') {
      await postgres.kill();
      await postgres.start();
      return goOn();
    }
    if (deed === 'kill') await working.kill();
    else {
      if (!(await until(() => held.length > 0))) findings.push('No request was in flight at a stop');
      const stopping = working.stop();
      if (deed === 'stop, answered') goOn();
      stops.push(await stopping);
    }
    if (!keepsCursors) await rig.rows('delete from service.webhook_progress');
    goOn();
    await changeOver(deed === 'kill' ? receiver.received.length : begin);
  };

  for (const [round, deed] of deeds.entries()) {
    scene.tell(`${deed}, round ${round} of ${deeds.length - 1}, ${receiver.received.length} requests`);
    if (!(await until(() => standby.hasSpoken || !standby.isRunning))) findings.push('Nobody stands by');
    const ids = Array.from({ length: A_ROUND }, (_, n) => `r${round}-${n}`);
    const before = receiver.received.length;
    const some = before + 5 + scene.random.int(A_ROUND - 20);
    last = deed.startsWith('stop') ? some : some + 10;
    begins.push(before);
    await rig.block(ids);
    due.push(...ids);
    await cameAtLeast(some);
    if (delivers(standby)) findings.push('Two processes deliver at once');
    await act(deed);
    if (!(await until(() => receiver.subjects.at(-1) === due.at(-1))))
      findings.push(`${due.at(-1)} did not come after: ${deed}`);
    if (findings.length > 0) break;
  }

  const repeated = deeds.map(() => 0);
  let next = 0;
  for (const [n, subject] of receiver.subjects.entries()) {
    if (subject === due[next]) next += 1;
    else if (subject === due[next - 1]) repeated[begins.findLastIndex((begin) => begin <= n)]! += 1;
    else findings.push(`${subject} came where ${due[next]} was due`);
    if (findings.length > 3) break;
  }
  if (next < due.length) findings.push(`${due.length - next} of ${due.length} records were lost`);
  for (const [round, deed] of deeds.entries())
    if (repeated[round]! > REPEATED[deed])
      findings.push(`${repeated[round]} requests were repeated in a round of: ${deed}`);
  const slowest = Math.max(0, ...stops);
  if (slowest > STOPS_WITHIN) findings.push(`An orderly stop took ${slowest} ms`);
  const { kills, databases } = dose;
  return {
    dose: `${kills} kills of the process, ${databases} of the database, ${stops.length} stops, ${due.length} records`,
    seen:
      `0 lost, in order, ${repeated.reduce((sum, count) => sum + count, 0)} requests repeated, ` +
      `taken over after at most ${Math.max(0, ...takeOvers)} ms, slowest stop ${slowest} ms`,
    findings,
  };
};

export const killedDeliveries: Scenario<Dose> = {
  name: 'F29',
  what: 'the delivery process killed and stopped, and its database killed, under load, while another process stands by',
  full: { kills: 50, databases: 5, stops: 10, takeOverMs: 5_000 },
  run: (scene, dose) => disturb(scene, dose),
  guard: 'cursors that are on disk before the next request',
  counterTest: { kills: 1, databases: 0, stops: 0 },
  without: (scene, dose) => disturb(scene, dose, false),
};
