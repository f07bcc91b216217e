import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase } from '../support/postgres.js';
import type { Fault, Outcome } from './fault.js';
import { ask } from './rig/ask.js';
import { issueKeys, keysKnown, openLog } from './rig/keys.js';
import { type Environment, preloadOf, Process } from './rig/processes.js';
import type { Scene } from './rig/scene.js';

interface Dose {
  readonly stops: number;
  readonly requests: number;
  readonly exitMs: number;
}

const CONNECTIONS = 50;
const LOOKS_EVERY_MS = 50;

/** One of two instances, and whether a balancer that looks at its readiness would send it requests. */
class Instance {
  private process: Process | undefined;
  isIn = false;

  constructor(
    private readonly scene: Scene,
    private readonly env: Environment,
    private readonly preload: string | undefined,
  ) {}

  get url(): string {
    return this.process!.url!;
  }

  /** Starts it, and waits until the balancer has found it. */
  async start(): Promise<void> {
    this.process = Process.start(this.scene, 'src/main', this.env, { preload: this.preload });
    const until = Date.now() + 30_000;
    while (!this.isIn) {
      if (!this.process.isRunning || Date.now() > until)
        throw new Error(`An instance did not start: ${this.process.lines.slice(-5).join('\n')}`);
      await sleep(10);
    }
  }

  /** @returns how long it took, ms */
  async stop(): Promise<number> {
    return this.process!.stop();
  }

  async look(): Promise<void> {
    if (this.process?.url === undefined) return;
    const { status } = await ask(`${this.url}/health/ready`, { patience: 2_000 }).catch(() => ({ status: 0 }));
    this.isIn = status === 200 && this.process.isRunning;
  }
}

/** A client with one connection an instance, as a balancer has them, that sends one request after the other. */
const keepAsking = async (
  instances: readonly Instance[],
  key: string,
  onAnswer: (status: number, error?: string) => void,
  signal: AbortSignal,
): Promise<void> => {
  const agents = instances.map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
  for (let n = 0; !signal.aborted; n += 1) {
    const which = instances[n % 2]!.isIn ? n % 2 : (n + 1) % 2;
    const { url, isIn } = instances[which]!;
    if (!isIn) {
      await sleep(5);
      continue;
    }
    await ask(`${url}/v2/organization/metrics`, { key, agent: agents[which] }).then(
      ({ status }) => onAnswer(status),
      (error: Error) => onAnswer(0, error.message),
    );
    await sleep(2);
  }
  for (const agent of agents) agent.destroy();
};

const restartInTurn = async (scene: Scene, { stops, requests, exitMs }: Dose, preload?: string): Promise<Outcome> => {
  const database = await createDatabase();
  scene.later(() => database.drop());
  const log = await openLog(scene, database.url);
  const keys = await issueKeys(log, ['acme']);
  const instances = [0, 1].map(() => new Instance(scene, { DATABASE_URL: database.url }, preload));
  const stop = new AbortController();
  const looking = instances.map(async (instance) => {
    while (!stop.signal.aborted) {
      await instance.look();
      await sleep(LOOKS_EVERY_MS);
    }
  });
  await Promise.all(instances.map((instance) => instance.start()));
  for (const { url } of instances) await keysKnown(url, keys);
  const answers = new Map<number, number>();
  const errors: string[] = [];
  let total = 0;
  const asking = Array.from({ length: CONNECTIONS }, () =>
    keepAsking(
      instances,
      keys.read['acme']!,
      (status, error) => {
        total += 1;
        answers.set(status, (answers.get(status) ?? 0) + 1);
        if (error !== undefined) errors.push(error);
      },
      stop.signal,
    ),
  );
  const exits: number[] = [];
  for (let n = 0; n < stops; n += 1) {
    await sleep(300);
    const instance = instances[n % 2]!;
    exits.push(await instance.stop());
    instance.isIn = false;
    scene.tell(`${n + 1} of ${stops} stopped, ${total} requests`);
    await instance.start();
  }
  while (total < requests) await sleep(50);
  stop.abort();
  await Promise.all([...asking, ...looking]);
  const others = [...answers].filter(([status]) => status !== 200).map(([status, n]) => `${n} × ${status}`);
  const slowest = Math.max(...exits);
  return {
    dose: `${stops} stops of two instances in turn, ${CONNECTIONS} connections, ${total} requests`,
    seen: `${errors.length} resets, every answer 200, slowest exit ${slowest} ms`,
    findings: [
      ...(others.length > 0 ? [`Not all were answered 200: ${others.join(', ')} ${errors[0] ?? ''}`] : []),
      ...(slowest > exitMs ? [`An exit took ${slowest} ms`] : []),
    ],
  };
};

export const stopped: Fault<Dose> = {
  name: 'F14',
  what: 'SIGTERM under 50 connections, two instances restarted in turn',
  doses: {
    short: { stops: 2, requests: 250, exitMs: 10_000 },
    full: { stops: 20, requests: 20_000, exitMs: 10_000 },
  },
  run: (scene, dose) => restartInTurn(scene, dose),
  guard: 'the graceful shutdown',
  without: (scene) => restartInTurn(scene, { stops: 1, requests: 100, exitMs: 10_000 }, preloadOf('no-orderly-stop')),
};
