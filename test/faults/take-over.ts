import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase } from '../support/postgres.js';
import { sent, stored } from '../support/upstream.js';
import type { Fault, Outcome } from './fault.js';
import { openLog } from './rig/keys.js';
import { Process } from './rig/processes.js';
import type { Scene } from './rig/scene.js';

interface Dose {
  readonly rounds: number;
  /** How long it may take until another one works, ms. */
  readonly takeOverMs: number;
}

const works = ({ lines }: Process): boolean => lines.some((line) => line.includes('Lease acquired; projecting counts'));

const killTheWorking = async (scene: Scene, { rounds, takeOverMs }: Dose, isLeaseEndless = false): Promise<Outcome> => {
  const database = await createDatabase();
  scene.later(() => database.drop());
  const log = await openLog(scene, database.url);
  const start = (): Process => Process.start(scene, 'projections/main', { DATABASE_URL: database.url });
  const worksWithin = async (projector: Process, ms: number): Promise<boolean> => {
    for (const until = Date.now() + ms; Date.now() < until; await sleep(10)) if (works(projector)) return true;
    return false;
  };
  let working = start();
  await worksWithin(working, 30_000);
  const findings: string[] = [];
  const waits: number[] = [];
  for (let round = 1; round <= rounds && findings.length === 0; round += 1) {
    const standby = start();
    // Until it has asked for the lease once it does not stand by.
    while (standby.isRunning && !(await isConnected(standby))) await sleep(20);
    if (works(standby)) findings.push('Two projectors work at once');
    await working.kill();
    if (isLeaseEndless) await database.pool.query('update read.projector_leases set expires_at = expires_at * 2');
    const begin = Date.now();
    const event = stored(
      sent('BrandRegistered', { organization: 'acme', brand: `b-${round}`, updatedAt: '2026-01-01T00:00:00Z' }),
    );
    await log.appendAll([event]);
    if (!(await worksWithin(standby, takeOverMs))) findings.push(`Nobody took over within ${takeOverMs} ms`);
    waits.push(Date.now() - begin);
    const count = async (): Promise<number | null> =>
      (await database.pool.query('select from read.brands where brand = $1', [`b-${round}`])).rowCount;
    for (const until = Date.now() + 5_000; findings.length === 0 && (await count()) === 0; await sleep(10))
      if (Date.now() > until) findings.push('What came meanwhile was not counted');
    working = standby;
    scene.tell(`round ${round} of ${rounds}, taken over after ${waits.at(-1)} ms`);
  }
  await working.stop();
  return {
    dose: `${rounds} kills, another projector standing by`,
    seen: `taken over after at most ${Math.max(...waits)} ms`,
    findings,
  };

  async function isConnected(projector: Process): Promise<boolean> {
    const text = `select count(*) as n from pg_stat_activity where datname = current_database() and query like '%projector_lease%'`;
    // The worker's, the standby's, and this look itself.
    return works(projector) || (await database.pool.query<{ n: number }>(text)).rows[0]!.n >= 3;
  }
};

export const killedProjector: Fault<Dose> = {
  name: 'lease',
  what: 'kill -9 of the active projector while another one stands by',
  doses: { short: { rounds: 1, takeOverMs: 15_000 }, full: { rounds: 10, takeOverMs: 5_000 } },
  run: (scene, dose) => killTheWorking(scene, dose),
  guard: 'a lease that expires',
  without: (scene) => killTheWorking(scene, { rounds: 1, takeOverMs: 5_000 }, true),
};
