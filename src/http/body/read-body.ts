import { createGunzip } from 'node:zlib';
import { errorCodes, type FastifyRequest } from 'fastify';
import { Invalid } from '../../errors.js';
import type { TimeSlices } from '../../cooperative/time-slices.js';
import { laneOf } from '../access/caller.js';
import { BODY_LIMIT } from '../limits.js';
import { isGzip } from './content-encoding.js';

const UNPACKED_PIECE = 64 * 1024;
/** As Node reads it. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/**
 * Reads a request body in chunks, decompressed if necessary. A client waiting for `100 Continue` gets it here, once
 * everything that can be checked in advance has been.
 * @param take gets each chunk; if it throws, reading ends
 * @param done called once, with the reason if the body is rejected
 * @throws UnsupportedMediaTypeException, FST_ERR_CTP_BODY_TOO_LARGE, TooManyRequests, Unavailable: nothing is read
 */
export const readBody = (
  request: FastifyRequest,
  slices: TimeSlices,
  take: (piece: Buffer) => void,
  done: (error: Error | null) => void,
): void => {
  const { raw, share } = request;
  const limit = request.access?.bodyLimit ?? BODY_LIMIT;
  const gunzip = isGzip(raw.headers) ? createGunzip({ chunkSize: UNPACKED_PIECE }) : undefined;
  const source = gunzip ?? raw;
  const lane = laneOf(request.caller ?? undefined);
  const announced = Number(raw.headers['content-length'] ?? 0);
  if (announced > limit) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE();
  share?.announce(announced);
  if (raw.headers.expect !== undefined && CONTINUE.test(raw.headers.expect) && raw.httpVersion === '1.1')
    request.answer?.writeContinue();

  let [arrived, taken] = [0, 0];
  let isOver = false;
  const end = (error: Error | null): void => {
    if (isOver) return;
    isOver = true;
    if (!raw.readableEnded) raw.off('data', onData).resume();
    gunzip?.destroy();
    done(error);
  };
  const onPiece = (piece: Buffer): void => {
    if (isOver) return;
    try {
      taken += piece.length;
      if (taken > limit) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE();
      share?.add(piece.length);
      take(piece);
    } catch (error) {
      return end(error as Error);
    }
    // Node reads up to 2 MiB of one connection before it turns to the next.
    if (slices.isOver()) {
      source.pause();
      slices.begin(lane, () => source.resume());
    }
  };
  const onPacked = (piece: Buffer): void => {
    arrived += piece.length;
    if (arrived > limit) end(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE());
    else if (!gunzip!.write(piece)) raw.pause();
  };
  const onData = gunzip === undefined ? onPiece : onPacked;

  gunzip
    ?.on('data', onPiece)
    .on('drain', () => raw.resume())
    .on('end', () => end(null))
    .on('error', () => end(new Invalid('The body is not valid gzip')));
  raw
    .on('data', onData)
    .on('end', () => (gunzip === undefined ? end(null) : gunzip.end()))
    .on('error', (error) => end(Object.assign(error, { statusCode: 400 })));
};
