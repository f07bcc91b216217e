import { eventually } from '../../test/support/eventually.js';
import { ask } from './ask.js';
import { type Environment, Process } from './processes.js';
import type { Scene } from './scene.js';

/** Projectors and delivery processes, and what they say of their lanes. */
export class Workers {
  private readonly all: Process[] = [];

  constructor(
    private readonly scene: Scene,
    private readonly env: Environment,
  ) {}

  /** Starts one, and waits until it has asked for its lanes. */
  async start(program: 'projections/main' | 'src/deliver'): Promise<Process> {
    const worker = Process.start(this.scene, program, { ...this.env, OPS_PORT: '0' });
    this.all.push(worker);
    await eventually(`${program} asks for its lanes`, async () => (await lanesOf(worker)).size > 0);
    return worker;
  }

  of(program: Process['program']): Process[] {
    return this.all.filter((worker) => worker.program === program && worker.isRunning);
  }

  /** Waits until one says that it works in the lane, and only one. */
  async holder(lane: string): Promise<Process> {
    let found: Process[] = [];
    await eventually(`one works in ${lane}`, async () => {
      const lanes = await Promise.all(this.running.map(async (worker) => ({ worker, held: await lanesOf(worker) })));
      found = lanes.filter(({ held }) => held.get(lane) === true).map(({ worker }) => worker);
      return found.length === 1;
    });
    return found[0]!;
  }

  /** Waits until each projector has a lane, or there is none left. */
  async spread(lanes: number): Promise<void> {
    const projectors = this.of('projections/main');
    await eventually('no projector has two lanes while another has none', async () => {
      const held = await Promise.all(projectors.map(heldBy));
      return held.filter((names) => names.length > 0).length === Math.min(lanes, projectors.length);
    });
  }

  /** Where what a worker says in its report is not what its metrics and its log say. */
  async contradictions(): Promise<string[]> {
    const found = this.running.map(async (worker) => {
      const held = await heldBy(worker);
      const { body: metrics } = await ask(`${worker.opsUrl}/metrics`);
      // A lease may go from one to another between two looks.
      if (String(await heldBy(worker)) !== String(held)) return [];
      const counted = [
        ...String(metrics).matchAll(/^threat_protection_projector_lane_leader\{lane="(\w+)"\} 1$/gm),
      ].map(([, lane]) => lane);
      const untold = held.filter((lane) => !worker.lines.some((line) => line.includes(`ing ${lane}`)));
      return [
        ...(String(counted) === String(held)
          ? []
          : [`${worker.program} works in ${held.join()}, its metrics say ${counted.join()}`]),
        ...untold.map((lane) => `${worker.program} works in ${lane} and its log does not say so`),
      ];
    });
    return (await Promise.all(found)).flat();
  }

  private get running(): Process[] {
    return this.all.filter(({ isRunning }) => isRunning);
  }
}

/** Each lane that the worker knows, and whether it works there; none while it is silent. */
const lanesOf = async ({ opsUrl }: Process): Promise<ReadonlyMap<string, boolean>> => {
  if (opsUrl === undefined) return new Map();
  const { body } = await ask(`${opsUrl}/health/ready`, { timeoutMs: 3_000 }).catch(() => ({ body: undefined }));
  const detail: Record<string, string> = body?.parts?.lanes?.detail ?? {};
  return new Map(Object.entries(detail).map(([lane, state]) => [lane, state === 'working']));
};

const heldBy = async (worker: Process): Promise<string[]> =>
  [...(await lanesOf(worker))].filter(([, isHeld]) => isHeld).map(([lane]) => lane);
