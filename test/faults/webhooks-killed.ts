import { setTimeout as sleep } from 'node:timers/promises';
import { Receiver } from '../webhooks/delivery/receiver.js';
import { Rig } from '../webhooks/delivery/rig.js';
import type { Fault, Outcome } from './fault.js';
import { Process } from './rig/processes.js';
import type { Scene } from './rig/scene.js';

interface Dose {
  readonly kills: number;
}

/** Records a round; the kill comes somewhere among them. */
const A_ROUND = 60;
const PATIENCE_MS = 30_000;

const killTheDeliveries = async (scene: Scene, { kills }: Dose, keepsCursors = true): Promise<Outcome> => {
  const rig = await Rig.start();
  scene.later(() => rig.end());
  const receiver = new Receiver();
  await rig.endpoint(`${await receiver.start()}/hooks`);
  scene.later(() => receiver.stop());
  const env = {
    DATABASE_URL: rig.database.url,
    WEBHOOK_MASTER_KEY_FILE: rig.keyFile,
    WEBHOOK_ALLOW: '127.0.0.0/8',
  };
  const due: string[] = [];
  const receivedAtLeast = async (count: number): Promise<boolean> => {
    for (const until = Date.now() + PATIENCE_MS; Date.now() < until; await sleep(2))
      if (receiver.received.length >= count) return true;
    return false;
  };
  const findings: string[] = [];
  for (let round = 0; round <= kills && findings.length === 0; round += 1) {
    const ids = Array.from({ length: A_ROUND }, (_, n) => `r${round}-${n}`);
    const before = receiver.received.length;
    await rig.block(ids);
    due.push(...ids);
    const process = Process.start(scene, 'src/deliver', env);
    const most = round === kills ? due.length : before + 1 + scene.random.int(A_ROUND - 10);
    if (!(await receivedAtLeast(most))) findings.push(`Only ${receiver.received.length} of ${most} requests came`);
    if (round === kills) while (receiver.subjects.at(-1) !== due.at(-1) && findings.length === 0) await sleep(5);
    await process.kill();
    if (!keepsCursors) await rig.rows('delete from read.webhook_progress');
    scene.tell(`round ${round} of ${kills}, ${receiver.received.length} requests`);
  }
  let next = 0;
  let repeated = 0;
  for (const subject of receiver.subjects) {
    if (subject === due[next]) next += 1;
    else if (subject === due[next - 1]) repeated += 1;
    else findings.push(`${subject} came where ${due[next]} was due`);
    if (findings.length > 3) break;
  }
  if (next < due.length) findings.push(`${due.length - next} of ${due.length} records were lost`);
  if (repeated > kills) findings.push(`${repeated} requests were repeated after ${kills} kills`);
  return {
    dose: `${kills} kills, ${due.length} records`,
    seen: `0 lost, in order, ${repeated} requests repeated`,
    findings,
  };
};

export const killedDeliveries: Fault<Dose> = {
  name: 'webhooks',
  what: 'kill -9 of the delivery process under load',
  doses: { short: { kills: 5 }, full: { kills: 50 } },
  run: (scene, dose) => killTheDeliveries(scene, dose),
  guard: 'cursors that are on disk before the next request',
  without: (scene) => killTheDeliveries(scene, { kills: 1 }, false),
};
