import type { IncomingHttpHeaders } from 'node:http';
import { UnsupportedMediaTypeException } from '@nestjs/common';
import { createGunzip } from 'node:zlib';
import { errorCodes, type FastifyRequest } from 'fastify';
import { RequestTimeout, Invalid } from '../../errors.js';
import { Bag, type BagMember } from '../../flow/bag.js';
import { ByteBudget, Charge } from '../../flow/budgets.js';
import { ConcurrencyLimit, declareQueue } from '../../flow/concurrency-limit.js';
import type { TimeSlices } from '../../flow/turns.js';
import { ownerOf } from '../access/caller.js';
import { BODIES, BODY_LIMIT } from '../byte-limits.js';
import { limit } from '../../limits.js';

/**
 * Whether a body is compressed with `gzip`, or with its alias `x-gzip` (RFC 9110, 8.4.1.3).
 * @throws UnsupportedMediaTypeException for any other coding
 */
const isGzip = (headers: IncomingHttpHeaders): boolean => {
  const encoding = (headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'gzip' || encoding === 'x-gzip') return true;
  if (encoding === 'identity') return false;
  throw new UnsupportedMediaTypeException('Send the body as Content-Encoding: gzip, or without Content-Encoding');
};

/** How long a body may take to arrive while memory is low, in ms. Otherwise `requestTimeout` in `http/server.ts` applies. */
export const LOW_MEMORY_TIMEOUT_MS = limit('body while memory is low', 5_000, 'ms', 'request', '408');
const SWEEP_INTERVAL_MS = 250;

/** A body that is still arriving. */
interface UnfinishedBody extends BagMember {
  /** In ms of `performance.now()`. */
  readonly startedAt: number;
  readonly reject: (error: RequestTimeout) => void;
}

/** Keeps track of bodies that are still arriving, and rejects slow bodies while memory is low. */
export class UnfinishedBodies {
  private readonly bodies = new Bag<UnfinishedBody>();
  private sweeping: NodeJS.Timeout | undefined;

  /** @param isMemoryLow called a few times a second while bodies arrive */
  constructor(
    private readonly isMemoryLow: () => boolean,
    private readonly lowMemoryTimeoutMs = LOW_MEMORY_TIMEOUT_MS,
  ) {}

  /** @returns an entry that the caller deletes once the body has arrived or has been rejected */
  add(reject: (error: RequestTimeout) => void): UnfinishedBody {
    const body: UnfinishedBody = { startedAt: performance.now(), reject, bagIndex: 0 };
    this.bodies.add(body);
    this.sweeping ??= setInterval(() => this.sweep(), SWEEP_INTERVAL_MS).unref();
    return body;
  }

  delete(body: UnfinishedBody): void {
    this.bodies.delete(body);
  }

  private sweep(): void {
    if (this.bodies.size === 0) {
      clearInterval(this.sweeping);
      this.sweeping = undefined;
    } else if (this.isMemoryLow()) {
      const latest = performance.now() - this.lowMemoryTimeoutMs;
      for (const { startedAt, reject } of this.bodies) if (startedAt <= latest) reject(new RequestTimeout());
    }
  }
}

/** The chunk size of decompressed bodies, in bytes. */
const CHUNK_BYTES = 64 * 1024;
/** The same pattern that Node uses for the header `Expect`. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/**
 * Decompression runs in Node's thread pool, outside of the time slices. Each organization may use one of the four
 * threads at a time. A job is the decompression of one chunk, so that a slow sender does not block other senders of its
 * organization.
 */
const DECOMPRESSION = declareQueue({
  name: 'compressed bodies',
  maxRunning: 1,
  maxWaiting: 256,
  waitTimeoutMs: 10_000,
});

/** The largest plausible gzip size of a body, in bytes. Gzip adds a few bytes per block, and headers. */
const maxCompressedBytes = (uncompressed: number): number => uncompressed * 1.01 + 64 * 1024;

declare module 'fastify' {
  interface FastifyRequest {
    /** The bytes charged for the body; null until the body is read. */
    bodyCharge: Charge | null;
  }
}

/** Reads request bodies in chunks, within the limits per organization and in total. */
export class BodyReader {
  private readonly budget = new ByteBudget(BODIES);
  private readonly unfinished = new UnfinishedBodies(() => this.budget.isOverHalf);
  private readonly decompression = new ConcurrencyLimit(DECOMPRESSION);

  constructor(private readonly slices: TimeSlices) {}

  /**
   * Reads a body and decompresses it if necessary. A client that waits for `100 Continue` gets that response here,
   * after all checks that do not need the body.
   * @param take called with each chunk; reading ends if `take` throws
   * @param done called once, with the error if the body is rejected
   * @throws UnsupportedMediaTypeException, FST_ERR_CTP_BODY_TOO_LARGE, TooManyRequests, Unavailable before anything is
   *   read
   */
  read(request: FastifyRequest, take: (chunk: Buffer) => void, done: (error: Error | null) => void): void {
    const { raw } = request;
    const limit = request.access?.bodyLimit ?? BODY_LIMIT;
    const gunzip = isGzip(raw.headers) ? createGunzip({ chunkSize: CHUNK_BYTES }) : undefined;
    const source = gunzip ?? raw;
    const owner = ownerOf(request.caller);
    const announced = Number(raw.headers['content-length'] ?? 0);
    if (announced > limit) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE();
    const charge = (request.bodyCharge = new Charge(this.budget, owner));
    charge.announce(announced);
    if (raw.headers.expect !== undefined && CONTINUE.test(raw.headers.expect) && raw.httpVersion === '1.1')
      request.rawResponse?.writeContinue();

    let [arrived, taken] = [0, 0];
    let isOver = false;
    let onDecompressed = (): void => {};
    let lastChunk = Promise.resolve();
    const end = (error: Error | null): void => {
      if (isOver) return;
      isOver = true;
      this.unfinished.delete(unfinished);
      if (!raw.readableEnded) raw.off('data', onData).resume();
      gunzip?.destroy();
      // A destroyed stream may never call the callback of `write`.
      onDecompressed();
      done(error);
    };
    const onChunk = (chunk: Buffer): void => {
      if (isOver) return;
      try {
        taken += chunk.length;
        if (taken > limit) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE();
        charge.add(chunk.length);
        take(chunk);
      } catch (error) {
        return end(error as Error);
      }
      // Node reads up to 2 MiB from one connection before it reads from the next one.
      if (this.slices.isOver()) {
        source.pause();
        this.slices.begin(owner, () => source.resume());
      }
    };
    const decompress = async (chunk: Buffer): Promise<void> => {
      if (isOver) return;
      await new Promise<void>((resolve) => {
        onDecompressed = resolve;
        gunzip!.write(chunk, () => resolve());
      });
      // Empty blocks cost a thread as much time as other blocks, and yield no data that other limits would count.
      if (arrived > maxCompressedBytes(taken + gunzip!.readableLength))
        end(new Invalid('The body is larger compressed than uncompressed'));
    };
    const onCompressed = async (chunk: Buffer): Promise<void> => {
      arrived += chunk.length;
      if (arrived > limit) return end(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE());
      raw.pause();
      try {
        await this.decompression.run(owner, undefined, () => decompress(chunk));
        if (!isOver) raw.resume();
      } catch (error) {
        end(error as Error);
      }
    };
    const onData = gunzip === undefined ? onChunk : (chunk: Buffer): void => void (lastChunk = onCompressed(chunk));
    const onEnd = async (): Promise<void> => {
      if (gunzip === undefined) return end(null);
      // A paused stream emits `end` too, so the last chunk may still be being decompressed.
      await lastChunk;
      if (!isOver) gunzip.end();
    };

    const unfinished = this.unfinished.add(end);
    gunzip
      ?.on('data', onChunk)
      .on('end', () => end(null))
      .on('error', () => end(new Invalid('The body is not valid gzip')));
    raw
      .on('data', onData)
      .on('end', () => void onEnd())
      .on('error', (error) => end(Object.assign(error, { statusCode: 400 })));
  }
}
