import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TimeSlices } from '../../src/flow/time-slices.js';
import { checkAccess } from '../../src/http/access/check-access.js';
import type { Caller } from '../../src/http/access/caller.js';
import { RateLimit } from '../../src/flow/rate-limit.js';
import { AddressRateLimit } from '../../src/http/access/address-rate-limit.js';
import { BodyReader } from '../../src/http/body/body-reader.js';
import { eventually } from '../support/eventually.js';

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
    new AddressRateLimit(0, keys),
    slices,
  );

  it('takes its turn among those of its organization, or of its key if that has none', () => {
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
      new BodyReader(slices).read(
        request('first', body),
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

  it('is unpacked while no other of its organization is', async () => {
    const slices = new Held();
    const reader = new BodyReader(slices);
    const came: Record<string, number> = {};
    const ended: string[] = [];
    const read = (key: string, text: string): FastifyRequest => {
      const sent = Object.assign(request(key, new PassThrough()), { access: { scope: 'read', bodyLimit: 2_000_000 } });
      sent.raw.headers['content-encoding'] = 'gzip';
      const take = (piece: Buffer): void => void (came[key] = (came[key] ?? 0) + piece.length);
      reader.read(sent, take, () => ended.push(key));
      (sent.raw as unknown as PassThrough).end(gzipSync(text));
      return sent;
    };
    read('first', ' '.repeat(1_000_000));
    // Held after its first piece: the rest waits in the middle of being unpacked.
    await eventually('the first is held', () => slices.waiting.length === 1);
    read('second', 'x');
    read('other', 'x');
    await eventually("another organization's is read", () => came['other'] === 1);
    expect(came['second']).toBeUndefined();
    await eventually('the second is read', () => {
      for (const { job } of slices.waiting.splice(0)) job();
      return ended.includes('second');
    });
    expect(came).toEqual({ first: 1_000_000, second: 1, other: 1 });
  });
});
