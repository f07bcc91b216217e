import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Validators } from './fetch-list.js';
import type { Body } from './collector.js';
import type { RejectedEntries } from './list-entry.js';

/** What is known about a list. The operator's command reads it too, in another process. */
export interface ListState {
  readonly id: string;
  /** Format, verdict and address without secrets; a copy of another origin is ignored. */
  readonly origin: string;
  /** Entries in use; 0 if never read. */
  readonly entries: number;
  /** Entries that are not used. */
  readonly refused: number;
  /** The same by reason. */
  readonly rejected?: readonly RejectedEntries[];
  /** ms; when the content in use was fetched. Absent: never. */
  readonly fetchedAt?: number;
  /** ms; when the server last confirmed that it is current. */
  readonly checkedAt?: number;
  readonly validators: Validators;
  /** Why the last attempt failed; absent if it succeeded. */
  readonly lastError?: string;
  /** ms */
  readonly lastErrorAt?: number;
}

/** Other users of this machine need not know which lists are read, or what they contain. */
const FOLDER = { recursive: true, mode: 0o700 };
const FILE_MODE = 0o600;

/** Another one each time: instances that share a folder may have the same process id, as containers do. */
const newPartOf = (path: string): string => `${path}.${randomBytes(8).toString('hex')}.part`;

/** Atomically, so that neither a crash nor another instance leaves half a file. */
export const replaceFile = async (path: string, content: string | Uint8Array): Promise<void> => {
  const part = newPartOf(path);
  await mkdir(dirname(path), FOLDER);
  try {
    await writeFile(part, content, { mode: FILE_MODE });
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
};

/** The file with the first-seen times of a list's entries. */
export const seenPathOf = (dataDir: string, id: string): string => join(folderOf(dataDir), `${id}.seen`);

const folderOf = (dataDir: string): string => join(dataDir, 'lists');

/** The last good copy of one list on disk, and its state. */
export class ListCopy {
  private readonly body: string;
  private readonly state: string;
  /** A body read to its end since the last `write`. */
  private recorded: { readonly part: string; readonly failure: Error | undefined } | undefined;

  constructor(
    private readonly dataDir: string,
    id: string,
  ) {
    this.body = join(folderOf(dataDir), `${id}.list`);
    this.state = join(folderOf(dataDir), `${id}.json`);
  }

  /** @returns undefined if there is none, or it is unreadable */
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

  /** @returns undefined if there is no copy, or it exceeds `maxBytes` */
  async readBody(maxBytes: number): Promise<Body | undefined> {
    try {
      const { size } = await stat(this.body);
      return size > maxBytes ? undefined : { chunks: createReadStream(this.body), size };
    } catch {
      return undefined;
    }
  }

  /**
   * Passes the body through while saving it next to the copy, so that the list is never in memory as a whole. The next
   * `write` moves it into place and reports a disk failure; reading the list is not affected by one.
   */
  record({ chunks, size }: Body): Body {
    return { chunks: this.recording(chunks), size };
  }

  /**
   * Replaces each file atomically.
   * @param isGood whether the recorded body, if any, becomes the new copy
   */
  async write(state: ListState, isGood: boolean): Promise<void> {
    const { recorded } = this;
    this.recorded = undefined;
    if (recorded !== undefined && !isGood) await rm(recorded.part, { force: true });
    else if (recorded?.failure !== undefined) throw recorded.failure;
    else if (recorded !== undefined) await rename(recorded.part, this.body);
    await replaceFile(this.state, JSON.stringify(state));
  }

  private async *recording(chunks: Body['chunks']): AsyncGenerator<Buffer> {
    let failure: Error | undefined;
    const onFailure = (error: Error): undefined => void (failure ??= error);
    const part = newPartOf(this.body);
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
      this.recorded = isWhole ? { part, failure } : undefined;
      if (file !== undefined && (!isWhole || failure !== undefined)) await rm(part, { force: true });
    }
  }
}
