import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { decode, type List, type Update, updated } from '../../docs/examples/local-list.js';
import { eventually } from '../../test/support/eventually.js';
import type { Random } from '../../test/support/random.js';
import { sendRequest } from './http-request.js';
import type { Environment } from './processes.js';
import type { RunContext } from './run-context.js';

/** How many findings a client keeps. */
const MAX_FINDINGS = 3;

const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const bytesOf = (hashes: BigUint64Array): Buffer => Buffer.from(hashes.slice().buffer).swap64();
const numberOf = (version: string): number => Number(version.split('-', 1)[0]);

/** Applies an update as `updated` does, but without the checks of the result. */
const appliedUnchecked = ({ removals, additions, partialUpdate, ...version }: Update, held?: List): List => {
  const removed = new Set(removals && Array.from(decode(removals), Number));
  const kept = partialUpdate ? held!.hashes.filter((_, index) => !removed.has(index)) : [];
  return { ...version, hashes: BigUint64Array.from([...kept, ...(additions ? decode(additions) : [])]).sort() };
};

/**
 * Checks what a client holds: each version against its checksum, and that versions ascend. A client may go back once for
 * each restore, when it leaves a version that the restore has removed.
 */
class HeldVersions {
  readonly findings: string[] = [];
  private last = 0;
  private timesBack = 0;

  constructor(
    private readonly name: string,
    private readonly restores: () => number,
  ) {}

  add(version: string, sha256: string, hashes: Buffer): void {
    const number = numberOf(version);
    if (sha256Of(hashes) !== sha256) this.found(`${this.name} has other entries than version ${version}`);
    if (number < this.last) {
      this.timesBack += 1;
      if (this.timesBack > this.restores())
        this.found(`${this.name} went back from version ${this.last} to ${number} without a restore`);
    }
    this.last = number;
  }

  private found(finding: string): void {
    if (this.findings.length < MAX_FINDINGS) this.findings.push(finding);
  }
}

interface ClientOptions {
  readonly name: string;
  readonly list: string;
  /** The URLs of the API processes, of which each request uses one. */
  readonly urls: readonly (() => string)[];
  readonly key: string;
  readonly random: Random;
  /** The random time between two updates, in ms. Undefined: each request waits for a change. */
  readonly gapMs?: readonly [number, number] | undefined;
  /** Whether the client checks the checksum of an update. */
  readonly isChecked: boolean;
  /** How often the tables were put back. */
  readonly restores: () => number;
}

/** Follows a list with the functions of the example client, in this process. */
export class ListClient {
  held: List | undefined;
  updates = 0;
  /** Whole lists that were requested because an update did not lead to its checksum. */
  mismatches = 0;
  /** Updates that were refused because they were older, as those of a process that is behind another one. */
  refusedAsOlder = 0;
  /** Requests that were rejected, or ended without a response because a process was killed. */
  failed = 0;
  /** While true, the client sends no request. */
  isAsleep = false;
  private isWhole = false;
  private readonly versions: HeldVersions;

  constructor(private readonly options: ClientOptions) {
    this.versions = new HeldVersions(options.name, options.restores);
  }

  get findings(): readonly string[] {
    const { name } = this.options;
    const { mismatches } = this;
    return [
      ...this.versions.findings,
      ...(mismatches > 0 ? [`${mismatches} updates of ${name} did not lead to the checksum that they name`] : []),
    ];
  }

  /** Updates until `signal` aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    const { gapMs, random } = this.options;
    while (!signal.aborted) {
      const before = this.failed;
      if (!this.isAsleep) await this.update(gapMs === undefined && this.held !== undefined);
      const [from, to] = gapMs ?? (this.failed > before || this.isAsleep ? [100, 500] : [0, 1]);
      await sleep(from + random.int(to - from), undefined, { signal }).catch(() => {});
    }
  }

  async update(isWaiting = false): Promise<void> {
    const { list, urls, key, random } = this.options;
    const { held } = this;
    const since = held === undefined || this.isWhole ? '' : `?since=${held.version}`;
    const headers: Record<string, string> = isWaiting ? { prefer: 'wait=25' } : {};
    const asked = sendRequest(`${random.pick(urls)()}/v2/lists/${list}${since}`, { key, headers, timeoutMs: 40_000 });
    const response = await asked.catch(() => undefined);
    if (response?.status !== 200) return void (this.failed += 1);
    this.take(response.body as Update, held);
  }

  private take(update: Update, held: List | undefined): void {
    const { list, isChecked } = this.options;
    try {
      this.held = isChecked ? updated(update, list, held) : appliedUnchecked(update, held);
    } catch (error) {
      if ((error as Error).message.includes('is older than')) return void (this.refusedAsOlder += 1);
      this.mismatches += 1;
      this.isWhole = true;
      return;
    }
    this.updates += 1;
    this.isWhole = false;
    const { version, sha256, hashes } = this.held;
    this.versions.add(version, sha256, bytesOf(hashes));
  }
}

/** Runs the program of the example client, which keeps its lists in files, and kills it from time to time. */
export class ListProgram {
  kills = 0;
  private child: ChildProcess;
  private out = '';
  private err = '';
  private seen: string | undefined;
  private readonly versions: HeldVersions;

  /** @param folder where the program keeps its lists */
  constructor(
    context: RunContext,
    name: string,
    private readonly folder: string,
    private readonly url: string,
    private readonly env: Environment,
    restores: () => number,
  ) {
    this.versions = new HeldVersions(name, restores);
    this.child = this.start();
    context.onEnd(() => this.kill());
    context.keepFile(`${name}.log`, () => this.err);
  }

  get findings(): readonly string[] {
    return this.versions.findings;
  }

  /** How often the program has asked for a whole list because an update did not lead to its checksum. */
  get mismatches(): number {
    return this.err.split('does not have the checksum').length - 1;
  }

  /** The version of the file. */
  get version(): string | undefined {
    return this.read()?.version;
  }

  /** Reads the file of the program, and restarts the program after random times, until `signal` aborts. */
  async follow(signal: AbortSignal, random: Random, [from, to]: readonly [number, number]): Promise<void> {
    const nextRestart = (): number => Date.now() + from + random.int(to - from);
    for (let restartAt = nextRestart(); !signal.aborted; this.look()) {
      await sleep(50, undefined, { signal }).catch(() => {});
      if (Date.now() < restartAt) continue;
      this.kills += 1;
      await this.kill();
      this.look();
      this.child = this.start();
      restartAt = nextRestart();
    }
  }

  /** Returns what the program says about each content. */
  async check(contents: readonly string[]): Promise<string[]> {
    this.out = '';
    const answers = (): string[] => this.out.split('\n').slice(0, -1);
    this.child.stdin!.write(contents.map((content) => `${content}\n`).join(''));
    await eventually('the program answers', () => answers().length >= contents.length);
    return answers().map((line) => line.split(' ', 1)[0]!);
  }

  private start(): ChildProcess {
    const program = resolve('dist/docs/examples/local-list.js');
    const child = spawn(process.execPath, [program, this.url], { cwd: this.folder, env: this.env });
    child.stdout.setEncoding('utf8').on('data', (text: string) => (this.out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.err += text));
    child.stdin.on('error', () => {});
    return child;
  }

  private async kill(): Promise<void> {
    const { child } = this;
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  private read(): { version: string; sha256: string; hashes: string } | undefined {
    const file = join(this.folder, 'all-8b.json');
    return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
  }

  private look(): void {
    const read = this.read();
    if (read === undefined || read.version === this.seen) return;
    this.seen = read.version;
    this.versions.add(read.version, read.sha256, Buffer.from(read.hashes, 'base64'));
  }
}
