import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Validators } from './fetch-list.js';
import type { Body } from './collector.js';
import type { OverruledEntries } from './guards.js';
import type { RejectedEntries } from './list-entry.js';

/**
 * The state of a list, saved as JSON next to its copy. The command `sources status` reads the file in another process.
 */
export interface ListState {
  readonly id: string;
  /** Format, verdict and URL without secrets. A copy with another origin is ignored. */
  readonly origin: string;
  /** Number of entries in use; 0 if the list was never read. */
  readonly entries: number;
  /** Number of rejected entries. */
  readonly refused: number;
  /** The rejected entries by reason. */
  readonly rejected?: readonly RejectedEntries[];
  /** The entries that guards overrule; absent until they are counted, and without guards. */
  readonly overruled?: OverruledEntries;
  /** When the content in use was fetched, in ms. Absent if no content was ever fetched. */
  readonly fetchedAt?: number;
  /** When the server last confirmed that the content is current, in ms. */
  readonly checkedAt?: number;
  readonly validators: Validators;
  /** The SHA-256 of the body to which the counts and validators belong, in base64url. */
  readonly digest?: string;
  /** Why the last attempt to refresh the list failed; absent if the attempt succeeded. */
  readonly lastError?: string;
  /** When the last attempt failed, in ms; absent if the attempt succeeded. */
  readonly lastErrorAt?: number;
}

/** Other users of the machine cannot read the lists. */
const FOLDER = { recursive: true, mode: 0o700 };
const FILE_MODE = 0o600;

/**
 * Returns a temporary path with a random part. The process id is not enough, because instances in containers that share
 * a folder may have equal process ids.
 */
const newPartOf = (path: string): string => `${path}.${randomBytes(8).toString('hex')}.part`;
/** What follows `ID.` in the names of the temporary files of a list. */
const PART = /^(?:list|json|seen)\.[\da-f]{16}\.part$/;
/** A temporary file that was not written to for this time is of a process that was killed: no download takes so long. */
const PART_LEFT_MS = 3_600_000;

/** Replaces a file atomically, so that a crash or another instance cannot leave a partial file. */
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

/** The path of the file with the first-seen times of a list's entries. */
export const seenPathOf = (dataDir: string, id: string): string => join(folderOf(dataDir), `${id}.seen`);

const folderOf = (dataDir: string): string => join(dataDir, 'lists');

/** A body whose SHA-256, in base64url, is known once the body has been read completely. */
interface DigestedBody extends Body {
  readonly digest: () => string;
}

/** Computes the digest of a body while the body is read. */
export const digested = ({ chunks, size }: Body): DigestedBody => {
  const hash = createHash('sha256');
  const passing = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      hash.update(chunk);
      yield chunk;
    }
  };
  return { chunks: passing(), size, digest: () => hash.copy().digest('base64url') };
};

/** The last valid copy of one list on disk, and its state. */
export class ListCopy {
  private readonly body: string;
  private readonly state: string;
  /** The body that was read completely since the last `write`, and the failure of the disk, if any. */
  private recorded: { readonly part: string; readonly failure: Error | undefined } | undefined;

  constructor(
    private readonly dataDir: string,
    private readonly id: string,
  ) {
    this.body = join(folderOf(dataDir), `${id}.list`);
    this.state = join(folderOf(dataDir), `${id}.json`);
  }

  /** @returns undefined if the file is missing or invalid */
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

  /** @returns undefined if there is no copy, or the copy is larger than `maxBytes` */
  async readBody(maxBytes: number): Promise<Body | undefined> {
    try {
      const { size } = await stat(this.body);
      return size > maxBytes ? undefined : { chunks: createReadStream(this.body), size };
    } catch {
      return undefined;
    }
  }

  /** Removes the body. A disk failure is ignored. */
  async removeBody(): Promise<void> {
    await rm(this.body, { force: true }).catch(() => undefined);
  }

  /** Removes the temporary files that killed processes have left of this list. A disk failure is ignored. */
  async removeLeftParts(): Promise<void> {
    const names = await readdir(folderOf(this.dataDir)).catch(() => []);
    for (const name of names) {
      if (!name.startsWith(`${this.id}.`) || !PART.test(name.slice(this.id.length + 1))) continue;
      const path = join(folderOf(this.dataDir), name);
      const part = await stat(path).catch(() => undefined);
      if (part !== undefined && Date.now() - part.mtimeMs > PART_LEFT_MS)
        await rm(path, { force: true }).catch(() => undefined);
    }
  }

  /**
   * Passes the body through while saving it to a temporary file, so that the whole list is never in memory. The next
   * `write` moves the file into place. A disk failure does not interrupt reading; the next `write` throws the failure.
   */
  record({ chunks, size }: Body): Body {
    return { chunks: this.recording(chunks), size };
  }

  /**
   * Replaces the state, and optionally the body. Each file is replaced atomically.
   * @param keepsBody if true, the recorded body, if any, becomes the new copy; if false, the recorded body is deleted
   * @throws Error if the disk fails
   */
  async write(state: ListState, keepsBody: boolean): Promise<void> {
    const { recorded } = this;
    this.recorded = undefined;
    if (recorded !== undefined && !keepsBody) await rm(recorded.part, { force: true });
    else if (recorded?.failure !== undefined) throw recorded.failure;
    else if (recorded !== undefined) await rename(recorded.part, this.body);
    await this.writeState(state);
  }

  /**
   * Replaces the state only, so that a body that is being recorded is kept.
   * @throws Error if the disk fails
   */
  writeState(state: ListState): Promise<void> {
    return replaceFile(this.state, JSON.stringify(state));
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
