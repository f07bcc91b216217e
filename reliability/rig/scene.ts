import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, type TestDatabase } from '../../test/support/postgres.js';
import { Random } from '../../test/support/random.js';

/** One run of a scenario: its chance, its folders, and everything that has to be taken away again. */
export class Scene {
  readonly random: Random;
  private readonly endings: (() => Promise<unknown>)[] = [];
  private readonly kept = new Map<string, () => string>();

  constructor(
    readonly seed: number,
    /** Told how far the run is. */
    readonly tell: (progress: string) => void = () => {},
  ) {
    this.random = new Random(seed);
  }

  /** Calls this when the run has ended, however it ended; the last one first. */
  later(ending: () => Promise<unknown>): void {
    this.endings.push(ending);
  }

  /** A folder that every user can pass through: where we are root, the database server is another user. */
  async folder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'threat-protection-fault-'));
    await chmod(folder, 0o711);
    this.later(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
    return folder;
  }

  async database(options?: Parameters<typeof createDatabase>[0]): Promise<TestDatabase> {
    const database = await createDatabase(options);
    this.later(() => database.drop());
    return database;
  }

  /** Names something that is written to a file where the run fails. */
  keep(name: string, content: () => string): void {
    this.kept.set(name, content);
  }

  /** @returns where what was kept is now */
  async save(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), `threat-protection-failed-seed-${this.seed}-`));
    for (const [name, content] of this.kept) await writeFile(join(folder, name), content());
    return folder;
  }

  async end(): Promise<void> {
    for (const ending of this.endings.reverse()) await ending().catch(() => {});
  }
}
