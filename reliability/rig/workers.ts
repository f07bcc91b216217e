import { eventually } from '../../test/support/eventually.js';
import { sendRequest } from './http-request.js';
import { type Environment, Process } from './processes.js';
import type { RunContext } from './run-context.js';

/** Projectors and delivery processes, and the lanes that they hold. */
export class Workers {
  private readonly all: Process[] = [];

  constructor(
    private readonly context: RunContext,
    private readonly env: Environment,
  ) {}

  /** Starts a process, and waits until its health report names its lanes. */
  async start(program: 'projections/main' | 'src/deliver'): Promise<Process> {
    const worker = Process.start(this.context, program, { ...this.env, OPS_PORT: '0' });
    this.all.push(worker);
    await eventually(`${program} reports its lanes`, async () => (await lanesOf(worker)).size > 0);
    return worker;
  }

  runningOf(program: Process['program']): Process[] {
    return this.all.filter((worker) => worker.program === program && worker.isRunning);
  }

  /** Waits until exactly one process reports that it holds the lane. */
  async waitForHolder(lane: string): Promise<Process> {
    let found: Process[] = [];
    await eventually(`exactly one process works in ${lane}`, async () => {
      const lanes = await Promise.all(this.running.map(async (worker) => ({ worker, held: await lanesOf(worker) })));
      found = lanes.filter(({ held }) => held.get(lane) === true).map(({ worker }) => worker);
      return found.length === 1;
    });
    return found[0]!;
  }

  /** Returns findings where the health report of a process contradicts its metrics or its log. */
  async contradictions(): Promise<string[]> {
    const found = this.running.map(async (worker) => {
      const held = await heldBy(worker);
      const { body: metrics } = await sendRequest(`${worker.opsUrl}/metrics`);
      // A lease may change its holder between two requests.
      if (String(await heldBy(worker)) !== String(held)) return [];
      const counted = [
        ...String(metrics).matchAll(/^threat_protection_projector_lane_leader\{lane="(\w+)"\} 1$/gm),
      ].map(([, lane]) => lane);
      const unlogged = held.filter((lane) => !worker.lines.some((line) => line.includes(`ing ${lane}`)));
      return [
        ...(String(counted) === String(held)
          ? []
          : [`${worker.program} works in ${held.join()}, but its metrics name ${counted.join()}`]),
        ...unlogged.map((lane) => `${worker.program} works in ${lane}, but its log does not mention the lane`),
      ];
    });
    return (await Promise.all(found)).flat();
  }

  private get running(): Process[] {
    return this.all.filter(({ isRunning }) => isRunning);
  }
}

/** Returns for each lane whether the worker holds it; empty without a response. */
const lanesOf = async ({ opsUrl }: Process): Promise<ReadonlyMap<string, boolean>> => {
  if (opsUrl === undefined) return new Map();
  const { body } = await sendRequest(`${opsUrl}/health/ready`, { timeoutMs: 3_000 }).catch(() => ({ body: undefined }));
  const detail: Record<string, string> = body?.parts?.lanes?.detail ?? {};
  return new Map(Object.entries(detail).map(([lane, state]) => [lane, state === 'working']));
};

const heldBy = async (worker: Process): Promise<string[]> =>
  [...(await lanesOf(worker))].filter(([, isHeld]) => isHeld).map(([lane]) => lane);
