import { createGunzip } from 'node:zlib';
import { errorCodes, type FastifyRequest } from 'fastify';
import { Invalid } from '../../errors.js';
import { ByteBudget, Charge } from '../../flow/byte-budget.js';
import { OrganizationTurns, type TurnLimits } from '../../flow/organization-turns.js';
import type { TimeSlices } from '../../flow/time-slices.js';
import { ownerOf } from '../access/caller.js';
import { BODIES, BODY_LIMIT } from '../byte-limits.js';
import { isGzip } from './content-encoding.js';
import { UnfinishedBodies } from './unfinished-bodies.js';

const UNPACKED_PIECE = 64 * 1024;
/** As Node reads it. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/**
 * Unpacking runs in Node's thread pool, outside of the time slices: an organization has one of the four threads. A turn
 * is one piece, so that a slow sender keeps none of its organization's other senders waiting.
 */
const UNPACKING: TurnLimits = { name: 'compressed bodies', running: 1, waiting: 256, patience: 10_000, rest: 0 };

/** The most that gzip makes of text in bytes: some bytes per block more, and headers. */
const mostPacked = (unpacked: number): number => unpacked * 1.01 + 64 * 1024;

declare module 'fastify' {
  interface FastifyRequest {
    /** What the body is charged; null until it is read. */
    bodyCharge: Charge | null;
  }
}

/** Reads request bodies in pieces, within the limits of their organization and of all. */
export class BodyReader {
  private readonly budget = new ByteBudget(BODIES);
  private readonly unfinished = new UnfinishedBodies(() => this.budget.isOverHalf);
  private readonly unpacking = new OrganizationTurns(UNPACKING);

  constructor(private readonly slices: TimeSlices) {}

  /**
   * Reads a body, decompressed if necessary. A client waiting for `100 Continue` gets it here, once everything that can
   * be checked in advance has been.
   * @param take gets each piece; if it throws, reading ends
   * @param done called once, with the reason if the body is rejected
   * @throws UnsupportedMediaTypeException, FST_ERR_CTP_BODY_TOO_LARGE, TooManyRequests, Unavailable: nothing is read
   */
  read(request: FastifyRequest, take: (piece: Buffer) => void, done: (error: Error | null) => void): void {
    const { raw } = request;
    const limit = request.access?.bodyLimit ?? BODY_LIMIT;
    const gunzip = isGzip(raw.headers) ? createGunzip({ chunkSize: UNPACKED_PIECE }) : undefined;
    const source = gunzip ?? raw;
    const owner = ownerOf(request.caller ?? undefined);
    const announced = Number(raw.headers['content-length'] ?? 0);
    if (announced > limit) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE();
    const charge = (request.bodyCharge = new Charge(this.budget, owner));
    charge.announce(announced);
    if (raw.headers.expect !== undefined && CONTINUE.test(raw.headers.expect) && raw.httpVersion === '1.1')
      request.answer?.writeContinue();

    let [arrived, taken] = [0, 0];
    let isOver = false;
    let unpacked = (): void => {};
    let lastTurn = Promise.resolve();
    const end = (error: Error | null): void => {
      if (isOver) return;
      isOver = true;
      this.unfinished.delete(unfinished);
      if (!raw.readableEnded) raw.off('data', onData).resume();
      gunzip?.destroy();
      // A destroyed stream may never call back.
      unpacked();
      done(error);
    };
    const onPiece = (piece: Buffer): void => {
      if (isOver) return;
      try {
        taken += piece.length;
        if (taken > limit) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE();
        charge.add(piece.length);
        take(piece);
      } catch (error) {
        return end(error as Error);
      }
      // Node reads up to 2 MiB of one connection before it turns to the next.
      if (this.slices.isOver()) {
        source.pause();
        this.slices.begin(owner, () => source.resume());
      }
    };
    const unpack = async (piece: Buffer): Promise<void> => {
      if (isOver) return;
      await new Promise<void>((resolve) => {
        unpacked = resolve;
        gunzip!.write(piece, () => resolve());
      });
      // Blocks that hold nothing cost a thread as much time as any, and no byte comes out of them.
      if (arrived > mostPacked(taken + gunzip!.readableLength))
        end(new Invalid('The body is larger compressed than uncompressed'));
    };
    const onPacked = async (piece: Buffer): Promise<void> => {
      arrived += piece.length;
      if (arrived > limit) return end(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE());
      raw.pause();
      try {
        await this.unpacking.runInTurn(owner, undefined, () => unpack(piece));
        if (!isOver) raw.resume();
      } catch (error) {
        end(error as Error);
      }
    };
    const onData = gunzip === undefined ? onPiece : (piece: Buffer): void => void (lastTurn = onPacked(piece));
    const onEnd = async (): Promise<void> => {
      if (gunzip === undefined) return end(null);
      // A stream that has been read to its end says so while it is paused, too.
      await lastTurn;
      if (!isOver) gunzip.end();
    };

    const unfinished = this.unfinished.add(end);
    gunzip
      ?.on('data', onPiece)
      .on('end', () => end(null))
      .on('error', () => end(new Invalid('The body is not valid gzip')));
    raw
      .on('data', onData)
      .on('end', () => void onEnd())
      .on('error', (error) => end(Object.assign(error, { statusCode: 400 })));
  }
}
