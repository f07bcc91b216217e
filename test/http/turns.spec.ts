import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TimeSlices } from '../../src/cooperative/time-slices.js';
import { checkAccess } from '../../src/http/access/check-access.js';
import type { Caller } from '../../src/http/access/caller.js';
import { RateLimit } from '../../src/http/access/rate-limit.js';
import { Unauthenticated } from '../../src/http/access/unauthenticated.js';
import { readBody } from '../../src/http/body/read-body.js';

/** A turn of the event loop that is always over: everything waits until it is begun here. */
class Held extends TimeSlices {
  readonly waiting: { readonly lane: string; readonly job: () => void }[] = [];

  override isOver(): boolean {
    return true;
  }

  override begin(lane: string, job: () => void): void {
    this.waiting.push({ lane, job });
  }
}

const CALLERS: Readonly<Record<string, Caller>> = {
  first: { keyId: '1', organization: 'acme', scopes: ['read'] },
  second: { keyId: '2', organization: 'acme', scopes: ['read'] },
  other: { keyId: '3', organization: 'globex', scopes: ['read'] },
  upstream: { keyId: '4', organization: undefined, scopes: ['ingest', 'read'] },
};
const keys = { verify: (key: string) => CALLERS[key] };

const request = (key: string, body = new PassThrough()): FastifyRequest =>
  ({
    raw: Object.assign(body, { url: '/v2/x', socket: { destroyed: false }, headers: {}, httpVersion: '1.1' }),
    headers: { 'x-api-key': key },
    caller: CALLERS[key],
  }) as unknown as FastifyRequest;

describe('A request', () => {
  const slices = new Held();
  const check = checkAccess(
    { scope: 'read', organization: false },
    keys,
    new RateLimit(0),
    new Unauthenticated(0, keys),
    slices,
  );

  it('takes its turn among those of its organization, or of its key where that has none', () => {
    let begun = 0;
    for (const key of ['first', 'second', 'other', 'upstream', 'nobody'])
      check(request(key), { raw: {} } as FastifyReply, () => (begun += 1));
    expect({ lanes: slices.waiting.map(({ lane }) => lane), begun }).toEqual({
      lanes: ['acme', 'acme', 'globex', '4', ''],
      begun: 0,
    });
    for (const { lane, job } of slices.waiting.splice(0)) if (lane !== '') job();
    expect(begun).toBe(4);
  });

  it('whose client has left is not carried out', () => {
    let begun = 0;
    const left = request('first');
    check(left, { raw: {} } as FastifyReply, () => (begun += 1));
    Object.assign(left.raw.socket, { destroyed: true });
    for (const { job } of slices.waiting.splice(0)) job();
    expect(begun).toBe(0);
  });
});

describe('A body', () => {
  it('is read a piece a turn, and arrives whole', async () => {
    const slices = new Held();
    const body = new PassThrough();
    const pieces: string[] = [];
    const read = new Promise<void>((resolve) => {
      readBody(
        request('first', body),
        slices,
        (piece) => void pieces.push(piece.toString()),
        (error) => {
          expect(error).toBeNull();
          resolve();
        },
      );
    });
    for (const piece of ['a', 'b', 'c']) body.write(piece);
    body.end();
    for (let turn = 1; turn <= 3; turn += 1) {
      while (slices.waiting.length === 0) await new Promise(setImmediate);
      expect(pieces).toHaveLength(turn);
      expect(slices.waiting.map(({ lane }) => lane)).toEqual(['acme']);
      slices.waiting.splice(0)[0]!.job();
    }
    await read;
    expect(pieces.join('')).toBe('abc');
  });
});
