import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, type TestDatabase } from '../../test/support/postgres.js';
import { Random } from '../../test/support/random.js';

/** The context of one run of a scenario: its random numbers, folders, databases and clean-up functions. */
export class RunContext {
  readonly random: Random;
  private readonly cleanUps: (() => Promise<unknown>)[] = [];
  private readonly keptFiles = new Map<string, () => string>();

  constructor(
    readonly seed: number,
    /** Called with the progress of the run. */
    readonly reportProgress: (progress: string) => void = () => {},
  ) {
    this.random = new Random(seed);
  }

  /**
   * Registers a clean-up function. The functions run in reverse order when the run has ended, even if the run failed.
   */
  onEnd(cleanUp: () => Promise<unknown>): void {
    this.cleanUps.push(cleanUp);
  }

  /** Creates a temporary folder. Other users may enter it, because as root the database server runs as another user. */
  async folder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'threat-protection-fault-'));
    await chmod(folder, 0o711);
    this.onEnd(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
    return folder;
  }

  async database(options?: Parameters<typeof createDatabase>[0]): Promise<TestDatabase> {
    const database = await createDatabase(options);
    this.onEnd(() => database.drop());
    return database;
  }

  /** Registers content that `save` writes to a file. */
  keepFile(name: string, content: () => string): void {
    this.keptFiles.set(name, content);
  }

  /** Writes the registered files. @returns their folder */
  async save(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), `threat-protection-failed-seed-${this.seed}-`));
    for (const [name, content] of this.keptFiles) await writeFile(join(folder, name), content());
    return folder;
  }

  async end(): Promise<void> {
    for (const cleanUp of this.cleanUps.reverse()) await cleanUp().catch(() => {});
  }
}
