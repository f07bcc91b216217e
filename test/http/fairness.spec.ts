import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TimeSlices } from '../../src/flow/turns.js';
import { Revocations, checkAccess, AddressRateLimit, KeyRateLimit } from '../../src/http/access/check-access.js';
import type { Caller } from '../../src/http/access/caller.js';
import { BodyReader } from '../../src/http/body/body-reader.js';
import { eventually } from '../support/eventually.js';

/** Time slices that never start a job themselves: each job waits until the spec starts it. */
class HeldTimeSlices extends TimeSlices {
  readonly waiting: { readonly owner: string; readonly job: () => void }[] = [];

  override isOver(): boolean {
    return true;
  }

  override begin(owner: string, job: () => void): void {
    this.waiting.push({ owner, job });
  }
}

const CALLERS: Readonly<Record<string, Caller>> = {
  first: { keyId: '1', organization: 'acme', scopes: ['read'] },
  second: { keyId: '2', organization: 'acme', scopes: ['read'] },
  other: { keyId: '3', organization: 'globex', scopes: ['read'] },
  upstream: { keyId: '4', organization: undefined, scopes: ['ingest', 'read'] },
};
const keys = {
  verify: (key: string) => CALLERS[key],
  verifyAfterRead: () => undefined,
  formIssueOf: () => undefined,
  hasKeyOf: () => true,
  onRevoked: () => {},
};

const request = (key: string, body = new PassThrough()): FastifyRequest =>
  ({
    raw: Object.assign(body, { url: '/v2/x', socket: { destroyed: false }, headers: {}, httpVersion: '1.1' }),
    headers: { 'x-api-key': key },
    caller: CALLERS[key],
  }) as unknown as FastifyRequest;

describe('A request', () => {
  const slices = new HeldTimeSlices();
  const check = checkAccess(
    { scope: 'read', organization: false },
    keys,
    new KeyRateLimit(0),
    new AddressRateLimit(0, keys),
    slices,
    new Revocations(keys),
  );

  it('waits in the time slices of its organization, or of its key if the key has no organization', () => {
    let started = 0;
    for (const key of ['first', 'second', 'other', 'upstream', 'nobody'])
      check(request(key), { raw: {} } as FastifyReply, () => (started += 1));
    expect({ owners: slices.waiting.map(({ owner }) => owner), started }).toEqual({
      owners: ['acme', 'acme', 'globex', '4', ''],
      started: 0,
    });
    for (const { owner, job } of slices.waiting.splice(0)) if (owner !== '') job();
    expect(started).toBe(4);
  });

  it('is not executed if the client has closed the connection', () => {
    let started = 0;
    const abandoned = request('first');
    check(abandoned, { raw: {} } as FastifyReply, () => (started += 1));
    Object.assign(abandoned.raw.socket, { destroyed: true });
    for (const { job } of slices.waiting.splice(0)) job();
    expect(started).toBe(0);
  });
});

describe('A body', () => {
  it('is read in one chunk per time slice, and arrives complete', async () => {
    const slices = new HeldTimeSlices();
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
      expect(slices.waiting.map(({ owner }) => owner)).toEqual(['acme']);
      slices.waiting.splice(0)[0]!.job();
    }
    await read;
    expect(pieces.join('')).toBe('abc');
  });

  it('is decompressed while no other body of its organization is being decompressed', async () => {
    const slices = new HeldTimeSlices();
    const reader = new BodyReader(slices);
    const bytesByKey: Record<string, number> = {};
    const ended: string[] = [];
    const read = (key: string, text: string): FastifyRequest => {
      const sent = Object.assign(request(key, new PassThrough()), { access: { scope: 'read', bodyLimit: 2_000_000 } });
      sent.raw.headers['content-encoding'] = 'gzip';
      const take = (piece: Buffer): void => void (bytesByKey[key] = (bytesByKey[key] ?? 0) + piece.length);
      reader.read(sent, take, () => ended.push(key));
      (sent.raw as unknown as PassThrough).end(gzipSync(text));
      return sent;
    };
    read('first', ' '.repeat(1_000_000));
    // The first body is held after its first chunk, in the middle of the decompression.
    await eventually('the first body is held', () => slices.waiting.length === 1);
    read('second', 'x');
    read('other', 'x');
    await eventually('the body of another organization is read', () => bytesByKey['other'] === 1);
    expect(bytesByKey['second']).toBeUndefined();
    await eventually('the second body is read', () => {
      for (const { job } of slices.waiting.splice(0)) job();
      return ended.includes('second');
    });
    expect(bytesByKey).toEqual({ first: 1_000_000, second: 1, other: 1 });
  });
});
