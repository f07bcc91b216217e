import { createReadStream } from 'node:fs';
import { mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Validators } from './fetch-list.js';
import type { Body, UnusedPages } from './parse-list.js';

/** What is known of a list; also what the operator's command reads, in a process of its own. */
export interface ListState {
  readonly id: string;
  /** Format, verdict and address it was read with, the address without secrets; a copy of another origin is not used. */
  readonly origin: string;
  /** Entries in use; 0 where it was never read. */
  readonly entries: number;
  /** Entries of it that were left out. */
  readonly refused: number;
  /** Those of them that name a page on a host where not anybody publishes. */
  readonly unusedPages?: UnusedPages;
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

/** Which lists are read, and what they hold, is nobody else's business on this machine. */
const FOLDER = { recursive: true, mode: 0o700 };
const FILE_MODE = 0o600;

/** Where first sights of a list's entries are kept. */
export const seenPathOf = (dataDir: string, id: string): string => join(folderOf(dataDir), `${id}.seen`);

const folderOf = (dataDir: string): string => join(dataDir, 'lists');

/** The last good copy of one list on disk, and what is known of it. */
export class ListCopy {
  private readonly body: string;
  private readonly state: string;
  /** A body that was read to its end since the last `write`. */
  private recorded: { readonly failure: Error | undefined } | undefined;

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

  /**
   * The same body, which is kept beside the copy while it is read, so that no list is ever in memory as it was sent. It
   * takes the copy's place with the next `write`, which also says where the disk failed: who reads the list does not.
   */
  record({ chunks, size }: Body): Body {
    return { chunks: this.recording(chunks), size };
  }

  /**
   * Each file is replaced in one step, so that neither a crash nor another instance leaves half of one.
   * @param isGood whether the body that was recorded, if any, is the new copy
   */
  async write(state: ListState, isGood: boolean): Promise<void> {
    const { recorded } = this;
    this.recorded = undefined;
    await mkdir(folderOf(this.dataDir), FOLDER);
    if (recorded !== undefined && !isGood) await rm(partOf(this.body), { force: true });
    else if (recorded?.failure !== undefined) throw recorded.failure;
    else if (recorded !== undefined) await rename(partOf(this.body), this.body);
    const part = partOf(this.state);
    try {
      await writeFile(part, JSON.stringify(state), { mode: FILE_MODE });
      await rename(part, this.state);
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    }
  }

  private async *recording(chunks: Body['chunks']): AsyncGenerator<Buffer> {
    let failure: Error | undefined;
    const onFailure = (error: Error): undefined => void (failure ??= error);
    const part = partOf(this.body);
    await mkdir(folderOf(this.dataDir), FOLDER).catch(onFailure);
    const file = await open(part, 'w', FILE_MODE).catch(onFailure);
    let isWhole = false;
    try {
      for await (const chunk of chunks) {
        if (failure === undefined) await file?.writeFile(chunk).catch(onFailure);
        yield chunk;
      }
      isWhole = true;
    } finally {
      await file?.close().catch(onFailure);
      this.recorded = isWhole ? { failure } : undefined;
      if (file !== undefined && (!isWhole || failure !== undefined)) await rm(part, { force: true });
    }
  }
}

const partOf = (path: string): string => `${path}.${process.pid}.part`;
