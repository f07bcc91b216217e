import { say } from '../../runtime/terminal.js';

const WIDTH = 24;
const TERMINAL_INTERVAL_MS = 100;
const LOG_INTERVAL_MS = 2_000;

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
export const count = (value: number): string => whole.format(value);

const timeLeft = (seconds: number): string =>
  seconds < 90 ? `${Math.ceil(seconds)} s left` : `${Math.ceil(seconds / 60)} min left`;

/** Shows progress on standard error: a bar on a terminal, otherwise a line every 2 s. */
export class Progress {
  private readonly started = performance.now();
  private shown = -Infinity;
  private text = '';

  constructor(private readonly unit: string) {}

  /**
   * @param done how many units are done so far
   * @param fraction progress from 0 to 1; undefined if the total is unknown
   */
  update(done: number, fraction: number | undefined): void {
    const now = performance.now();
    const seconds = (now - this.started) / 1_000;
    const bar =
      fraction === undefined ? '' : `${this.bar(fraction)} ${String(Math.floor(fraction * 100)).padStart(3)} %  `;
    const rate = `${count(done / Math.max(seconds, 0.001))} ${this.unit}/s`;
    const left =
      fraction === undefined || fraction === 0 || fraction === 1
        ? ''
        : `, ${timeLeft((seconds * (1 - fraction)) / fraction)}`;
    this.text = `${bar}${count(done)} ${this.unit}, ${rate}${left}`;
    if (now - this.shown < (process.stderr.isTTY ? TERMINAL_INTERVAL_MS : LOG_INTERVAL_MS)) return;
    this.shown = now;
    this.write();
  }

  /** Prints a line above the bar. */
  note(line: string): void {
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
    say(line);
  }

  /** Prints the final state and a line break. */
  end(): void {
    if (this.text === '') return;
    this.write();
    if (process.stderr.isTTY) process.stderr.write('\n');
  }

  private bar(fraction: number): string {
    const full = Math.round(fraction * WIDTH);
    return `[${'█'.repeat(full)}${'·'.repeat(WIDTH - full)}]`;
  }

  private write(): void {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${this.text}`);
    else say(this.text);
  }
}

/**
 * Runs work that shows its progress in bars. The bars end with the work, even if the work fails.
 * @param units what each bar counts, by the name of the bar
 */
export const withProgress = async <Name extends string, Result>(
  units: Readonly<Record<Name, string>>,
  work: (bars: Readonly<Record<Name, Progress>>) => Promise<Result>,
): Promise<Result> => {
  const bars = Object.fromEntries(
    Object.entries<string>(units).map(([name, unit]) => [name, new Progress(unit)]),
  ) as Record<Name, Progress>;
  try {
    return await work(bars);
  } finally {
    for (const bar of Object.values<Progress>(bars)) bar.end();
  }
};
