import { createReadStream } from 'node:fs';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Validators } from './fetch-list.js';
import type { Body } from './list-format.js';

/** What is known of a list; also what the operator's command reads, in a process of its own. */
export interface ListState {
  readonly id: string;
  /** Address, format and verdict it was read with; a copy of another origin is not used. */
  readonly origin: string;
  /** Entries in use; 0 where it was never read. */
  readonly entries: number;
  /** Entries of it that were left out. */
  readonly refused: number;
  /** ms; when the content in use was fetched. Absent: never. */
  readonly fetchedAt?: number;
  /** ms; when the server last said that it is still current. */
  readonly checkedAt?: number;
  readonly validators: Validators;
  /** Why the last try failed; absent where it did not. */
  readonly lastError?: string;
  /** ms */
  readonly lastErrorAt?: number;
}

const folderOf = (dataDir: string): string => join(dataDir, 'lists');

/** The last good copy of one list on disk, and what is known of it. */
export class ListCopy {
  private readonly body: string;
  private readonly state: string;

  constructor(
    private readonly dataDir: string,
    id: string,
  ) {
    this.body = join(folderOf(dataDir), `${id}.list`);
    this.state = join(folderOf(dataDir), `${id}.json`);
  }

  /** @returns undefined where there is none that can be read */
  async readState(): Promise<ListState | undefined> {
    try {
      const state = JSON.parse(await readFile(this.state, 'utf8')) as Partial<ListState> | null;
      return typeof state?.origin === 'string' && typeof state.validators === 'object'
        ? (state as ListState)
        : undefined;
    } catch {
      return undefined;
    }
  }

  /** @returns undefined where there is no copy, or one larger than a list may be */
  async readBody(maxBytes: number): Promise<Body | undefined> {
    try {
      const { size } = await stat(this.body);
      return size > maxBytes ? undefined : { chunks: createReadStream(this.body), size };
    } catch {
      return undefined;
    }
  }

  /** Each file is replaced in one step, so that neither a crash nor another instance leaves half of one. */
  async write(state: ListState, body?: Body): Promise<void> {
    await mkdir(folderOf(this.dataDir), { recursive: true });
    if (body !== undefined) await this.replace(this.body, body.chunks);
    await this.replace(this.state, JSON.stringify(state));
  }

  private async replace(path: string, content: string | Body['chunks']): Promise<void> {
    const part = `${path}.${process.pid}.part`;
    try {
      await writeFile(part, content);
      await rename(part, path);
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    }
  }
}
