import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome, Scenario } from '../scenario.js';
import { checkVerify, waitUntilCounted } from '../rig/check.js';
import { FakeClock, findFaketime, removeSharedMemoryAfter } from '../rig/fake-clock.js';
import { requireProgram } from '../rig/require-program.js';
import { endedProcesses } from '../rig/outage.js';
import { preloadOf, Process } from '../rig/processes.js';
import type { RunContext } from '../rig/run-context.js';
import { type Finding, type Aspect, ASPECTS, SKEWABLE, Skewed, type Skewable } from '../rig/skewed.js';

const MIGRATOR = 'migrator';
const ALL = [...SKEWABLE, MIGRATOR] as const;

interface Scale {
  readonly processes: readonly (typeof ALL)[number][];
  /** The clock offsets in seconds. */
  readonly offsets: readonly number[];
  /** Additional offsets of the API of more than a day, in seconds. */
  readonly days: readonly number[];
  /** How long the clock is wrong, and then right again, in ms. */
  readonly lastsMs: number;
}

const DAY_SECONDS = 86_400;
/** Longer than the retention period of usage data. */
const MANY_DAYS = 100 * DAY_SECONDS;

interface Period {
  readonly name: string;
  /** ms */
  readonly from: number;
}

const describeOffset = (seconds: number): string => `${Math.abs(seconds)} s ${seconds > 0 ? 'ahead' : 'behind'}`;

/** Returns the findings of one aspect, grouped by period. */
const findingsOfAspect = (aspect: Aspect, findings: readonly Finding[], periods: readonly Period[]): string[] => {
  const found = new Map<string, { count: number; first: string }>();
  for (const { at, what } of findings.filter((one) => one.aspect === aspect)) {
    const name = periods.findLast(({ from }) => from <= at)?.name ?? 'before the first period';
    const { count, first } = found.get(name) ?? { count: 0, first: what };
    found.set(name, { count: count + 1, first });
  }
  return [...found].map(([name, { count, first }]) => `${aspect}, ${name}: ${count} ×, first: ${first}`);
};

class Run {
  readonly periods: Period[] = [];
  readonly findings: Finding[] = [];
  readonly otherFindings: string[] = [];
  reads = 0;
  readsRejected = 0;
  tokenReads = 0;
  tokenReadsRejected = 0;

  constructor(
    private readonly context: RunContext,
    private readonly lastsMs: number,
    private readonly preload: string | undefined,
  ) {}

  /** Disturbs the clocks of the processes one after the other. */
  async skew(disruptions: readonly (readonly [Skewable, number])[]): Promise<void> {
    const { url } = await this.context.database();
    const skewed = await Skewed.start(this.context, url, this.preload);
    for (const [name, seconds] of disruptions) {
      this.begin(`${name} ${describeOffset(seconds)}`);
      await skewed.setClock(name, seconds * 1_000);
      await skewed.replace(name);
      await this.checkFor(skewed);
      // A retry is scheduled while the clock is wrong, and happens while it is right.
      const retried = name === 'deliveries' ? await skewed.failOnce() : undefined;
      this.begin(`${name} set back from ${describeOffset(seconds)}`);
      await skewed.setClock(name, 0);
      await Promise.all([this.checkFor(skewed), retried?.()]);
    }
    await this.end(skewed);
  }

  /** Runs a migration whose clock is wrong at its start and right at its end. */
  async migrate(seconds: number): Promise<void> {
    const { url } = await this.context.database({ migrated: false });
    const clock = await FakeClock.create(await this.context.folder(), MIGRATOR);
    await clock.set(seconds * 1_000);
    const process = Process.start(this.context, 'src/cli', { DATABASE_URL: url, ...clock.env }, { args: ['migrate'] });
    removeSharedMemoryAfter(process);
    await Promise.race([process.ended, sleep(1_500)]);
    await clock.set(0);
    await process.ended;
    if (process.exitCode !== 0) return void this.otherFindings.push(`migrate ended with ${process.exitCode}`);
    this.begin(`${MIGRATOR} ${describeOffset(seconds)}, set back`);
    const skewed = await Skewed.start(this.context, url, this.preload);
    await this.checkFor(skewed);
    await this.end(skewed);
  }

  private begin(name: string): void {
    this.context.reportProgress(name);
    this.periods.push({ name, from: Date.now() });
  }

  private async checkFor(skewed: Skewed): Promise<void> {
    const until = Date.now() + this.lastsMs;
    await skewed.checkQuota();
    await skewed.checkWebhookTests();
    await sleep(Math.max(0, until - Date.now()));
  }

  private async end(skewed: Skewed): Promise<void> {
    this.reads += await skewed.stop();
    this.readsRejected += skewed.readsRejected;
    this.tokenReads += skewed.tokenReads;
    this.tokenReadsRejected += skewed.tokenReadsRejected;
    this.findings.push(...skewed.findings);
    this.otherFindings.push(...endedProcesses(skewed.processes));
    await waitUntilCounted(skewed.unskewedUrl);
    this.otherFindings.push(...(await checkVerify(this.context, skewed.environment)));
    for (const process of skewed.processes) await process.stop();
  }
}

const skewClocks = async (
  context: RunContext,
  { processes, offsets, days, lastsMs }: Scale,
  preload?: string,
): Promise<Outcome> => {
  const run = new Run(context, lastsMs, preload);
  const disruptions = SKEWABLE.filter((name) => processes.includes(name)).flatMap((name) =>
    [...offsets, ...(name === 'api' ? days : [])].map((seconds) => [name, seconds] as const),
  );
  if (disruptions.length > 0) await run.skew(disruptions);
  if (processes.includes(MIGRATOR)) for (const seconds of offsets) await run.migrate(seconds);
  const findings = ASPECTS.flatMap((aspect) => findingsOfAspect(aspect, run.findings, run.periods));
  const failedAspects = ASPECTS.filter((aspect) => run.findings.some((one) => one.aspect === aspect));
  return {
    workload: `${processes.join(', ')}, each ${offsets.map(describeOffset).join(', ')}, and set back, for ${lastsMs / 1000} s each`,
    observed:
      `${run.reads} reads, ${run.readsRejected} of them rejected by a busy process, ` +
      `and ${run.tokenReads} reads with tokens, ${run.tokenReadsRejected} of them rejected; ` +
      ASPECTS.map((aspect) => `${aspect}: ${failedAspects.includes(aspect) ? 'not always' : 'always'}`).join(', '),
    findings: [...findings, ...run.otherFindings],
  };
};

export const skewedClocks: Scenario<Scale> = {
  name: 'F30',
  what: 'the wall clock of one process is ahead or behind, and is set back while the process runs',
  full: { processes: ALL, offsets: [5, -5, 60, -60, 3_600, -3_600], days: [MANY_DAYS], lastsMs: 12_000 },
  skipReason: requireProgram(findFaketime() !== undefined, "libfaketime (Debian's package `faketime`)"),
  run: (context, scale) => skewClocks(context, scale),
  guard: "`X-As-Of` is taken from the database's clock",
  controlScale: { processes: ['projector'], offsets: [3_600], days: [], lastsMs: 4_000 },
  withoutGuard: (context, scale) => skewClocks(context, scale, preloadOf('projector-clock')),
};
