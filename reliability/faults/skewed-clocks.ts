import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome, Scenario } from '../scenario.js';
import { checkVerify, counted } from '../rig/check.js';
import { FakeClock, findFaketime, sweepAfter } from '../rig/fake-clock.js';
import { needs } from '../rig/needs.js';
import { died } from '../rig/outage.js';
import { preloadOf, Process } from '../rig/processes.js';
import type { Scene } from '../rig/scene.js';
import { type Finding, type Row, ROWS, SKEWABLE, Skewed, type Skewable } from '../rig/skewed.js';

const MIGRATOR = 'migrator';
const ALL = [...SKEWABLE, MIGRATOR] as const;

interface Dose {
  readonly processes: readonly (typeof ALL)[number][];
  /** How far the clock is ahead, or behind (negative). Seconds */
  readonly offsets: readonly number[];
  /** Of the API besides: so far ahead that it is another day. Seconds */
  readonly days: readonly number[];
  /** How long the clock is wrong, and how long it is right again. ms */
  readonly lastsMs: number;
}

const DAY_SECONDS = 86_400;
/** More days than usage is kept for. */
const MANY_DAYS = 100 * DAY_SECONDS;

interface Period {
  readonly name: string;
  /** ms */
  readonly from: number;
}

const shown = (seconds: number): string => `${Math.abs(seconds)} s ${seconds > 0 ? 'ahead' : 'behind'}`;

/** One of these rows, for the periods in which it did not hold. */
const rowOf = (row: Row, findings: readonly Finding[], periods: readonly Period[]): string[] => {
  const found = new Map<string, { count: number; first: string }>();
  for (const { at, what } of findings.filter((one) => one.row === row)) {
    const name = periods.findLast(({ from }) => from <= at)?.name ?? 'before all';
    const { count, first } = found.get(name) ?? { count: 0, first: what };
    found.set(name, { count: count + 1, first });
  }
  return [...found].map(([name, { count, first }]) => `${row}, ${name}: ${count} ×, first: ${first}`);
};

class Run {
  readonly periods: Period[] = [];
  readonly findings: Finding[] = [];
  readonly others: string[] = [];
  reads = 0;
  readsPutOff = 0;
  tokens = 0;
  putOff = 0;

  constructor(
    private readonly scene: Scene,
    private readonly lastsMs: number,
    private readonly preload: string | undefined,
  ) {}

  /** Sets the clock of one process after another. */
  async skew(deeds: readonly (readonly [Skewable, number])[]): Promise<void> {
    const { url } = await this.scene.database();
    const skewed = await Skewed.start(this.scene, url, this.preload);
    for (const [name, seconds] of deeds) {
      this.begin(`${name} ${shown(seconds)}`);
      await skewed.setClock(name, seconds * 1_000);
      await skewed.replace(name);
      await this.look(skewed);
      // What is planned while the clock is wrong happens while it is right.
      const retried = name === 'deliveries' ? await skewed.failOnce() : undefined;
      this.begin(`${name} set back from ${shown(seconds)}`);
      await skewed.setClock(name, 0);
      await Promise.all([this.look(skewed), retried?.()]);
    }
    await this.end(skewed);
  }

  /** The process that migrates has this clock at its beginning, and the right one at its end. */
  async migrate(seconds: number): Promise<void> {
    const { url } = await this.scene.database({ migrated: false });
    const clock = await FakeClock.create(await this.scene.folder(), MIGRATOR);
    await clock.set(seconds * 1_000);
    const process = Process.start(this.scene, 'src/cli', { DATABASE_URL: url, ...clock.env }, { words: ['migrate'] });
    sweepAfter(process);
    await Promise.race([process.ended, sleep(1_500)]);
    await clock.set(0);
    await process.ended;
    if (process.exitCode !== 0) return void this.others.push(`migrate ended with ${process.exitCode}`);
    this.begin(`${MIGRATOR} ${shown(seconds)}, set back`);
    const skewed = await Skewed.start(this.scene, url, this.preload);
    await this.look(skewed);
    await this.end(skewed);
  }

  private begin(name: string): void {
    this.scene.tell(name);
    this.periods.push({ name, from: Date.now() });
  }

  private async look(skewed: Skewed): Promise<void> {
    const until = Date.now() + this.lastsMs;
    await skewed.tryQuota();
    await skewed.tryTests();
    await sleep(Math.max(0, until - Date.now()));
  }

  private async end(skewed: Skewed): Promise<void> {
    this.reads += await skewed.stop();
    this.readsPutOff += skewed.readsPutOff;
    this.tokens += skewed.tokensRead;
    this.putOff += skewed.tokensPutOff;
    this.findings.push(...skewed.findings);
    this.others.push(...died(skewed.processes));
    await counted(skewed.rightUrl);
    this.others.push(...(await checkVerify(this.scene, skewed.environment)));
    for (const process of skewed.processes) await process.stop();
  }
}

const skewClocks = async (
  scene: Scene,
  { processes, offsets, days, lastsMs }: Dose,
  preload?: string,
): Promise<Outcome> => {
  const run = new Run(scene, lastsMs, preload);
  const deeds = SKEWABLE.filter((name) => processes.includes(name)).flatMap((name) =>
    [...offsets, ...(name === 'api' ? days : [])].map((seconds) => [name, seconds] as const),
  );
  if (deeds.length > 0) await run.skew(deeds);
  if (processes.includes(MIGRATOR)) for (const seconds of offsets) await run.migrate(seconds);
  const findings = ROWS.flatMap((row) => rowOf(row, run.findings, run.periods));
  const bad = ROWS.filter((row) => run.findings.some((one) => one.row === row));
  return {
    dose: `${processes.join(', ')}, each ${offsets.map(shown).join(', ')}, and set back, for ${lastsMs / 1000} s each`,
    seen:
      `${run.reads} reads, of which ${run.readsPutOff} put off, ` +
      `and ${run.tokens} with tokens, of which ${run.putOff} put off; ` +
      ROWS.map((row) => `${row}: ${bad.includes(row) ? 'not always' : 'always'}`).join(', '),
    findings: [...findings, ...run.others],
  };
};

export const skewedClocks: Scenario<Dose> = {
  name: 'F30',
  what: 'the wall clock of one process is ahead or behind, and is set back while the process runs',
  full: { processes: ALL, offsets: [5, -5, 60, -60, 3_600, -3_600], days: [MANY_DAYS], lastsMs: 12_000 },
  unfit: needs(findFaketime() !== undefined, "libfaketime (Debian's package `faketime`)"),
  run: (scene, dose) => skewClocks(scene, dose),
  guard: "`X-As-Of` by the database's clock",
  counterTest: { processes: ['projector'], offsets: [3_600], days: [], lastsMs: 4_000 },
  without: (scene, dose) => skewClocks(scene, dose, preloadOf('own-time')),
};
