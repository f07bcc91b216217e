import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { sharedApp } from '../../../support/open-for-tests.js';

const MiB = 1024 * 1024;
/** The number of requests of each of four kinds. `EARLY_ANSWERS=25` sends 100 requests per status and size. */
const ROUNDS = Number(process.env['EARLY_ANSWERS'] ?? 2);
const GROUPS = '/v2/organization/asset-groups';
const PIECE = Buffer.alloc(65_536, ' ');

const app = sharedApp();
let key: string;
/** These exchanges are started in `beforeAll`, because they take as long as the timeouts that they wait for. */
let endless: Promise<Exchange>;
let stalled: Promise<Exchange>;
let absent: Promise<Exchange>;

interface Exchange {
  readonly answer: string;
  readonly bytes: number;
  readonly tookMs: number;
}

interface Request {
  readonly path: string;
  readonly key?: string;
  readonly type?: string;
  /** The length of the body in bytes, for Content-Length. If undefined, the body is chunked. */
  readonly length?: number | undefined;
  readonly headers?: string;
}

const headOf = ({ path, key = 'none', type = 'application/json', length, headers = '' }: Request): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\nContent-Type: ${type}\r\n${headers}` +
  `${length === undefined ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`}\r\n\r\n`;

const chunkOf = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);

/** Opens a connection. Resolves when the connection is closed. */
const talk = (write: (socket: Socket) => void, reads: 'at once' | 'after resume'): Promise<Exchange> =>
  new Promise((resolve) => {
    const startedAt = Date.now();
    let answer = '';
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1', () => write(socket));
    if (reads === 'at once') socket.on('data', (data) => (answer += data.toString('latin1')));
    else socket.pause().on('resume', () => socket.on('data', (data) => (answer += data.toString('latin1'))));
    socket
      .on('error', () => undefined)
      .on('close', () => resolve({ answer, bytes: socket.bytesWritten, tookMs: Date.now() - startedAt }));
  });

/** Sends a request like a client that reads the response only after it has written the whole body. */
const writeThenRead = (request: Request, size: number): Promise<Exchange> =>
  talk((socket) => {
    let remaining = size;
    const write = (): void => {
      while (remaining > 0) {
        const piece = PIECE.subarray(0, remaining);
        remaining -= piece.length;
        if (!socket.write(request.length === undefined ? chunkOf(piece) : piece))
          return void socket.once('drain', write);
      }
      socket.write(request.length === undefined ? '0\r\n\r\n' : '', () => socket.resume());
    };
    socket.write(headOf(request));
    write();
  }, 'after resume');

const writeForEver = (request: Request): Promise<Exchange> =>
  talk((socket) => {
    const write = (): void => {
      while (!socket.destroyed) if (!socket.write(chunkOf(PIECE))) return void socket.once('drain', write);
    };
    socket.write(headOf(request));
    write();
  }, 'at once');

const statusesOf = (answer: string): string[] =>
  [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status!);

beforeAll(async () => {
  // errors.spec.ts tests the real values. These values suffice for the longest body here on a busy machine.
  Object.assign(app.app.getHttpServer() as Server, { headersTimeout: 3_000, requestTimeout: 3_000 });
  key = await app.issueKey({ organization: 'acme' });
  endless = writeForEver({ path: GROUPS });
  stalled = talk((socket) => socket.write(`${headOf({ path: GROUPS, length: MiB })} `), 'at once');
  absent = talk((socket) => socket.write(`${headOf({ path: GROUPS, length: 9 })} `), 'at once');
});

describe('A response sent before the body has arrived', () => {
  const cases = (): readonly (readonly [status: string, Request])[] => [
    ['401', { path: '/v2/events' }],
    ['403', { path: '/v2/events', key }],
    ['404', { path: '/v2/nothing', key }],
    ['405', { path: '/health/live' }],
    ['413', { path: GROUPS, key }],
    ['415', { path: GROUPS, key, type: 'text/plain' }],
  ];

  it.each([1, 5, 7, 9])(
    'reaches a client that reads only after it has sent %i MiB',
    async (mib) => {
      for (const [status, request] of cases())
        for (const length of [mib * MiB, undefined])
          for (const headers of ['', 'Connection: close\r\n'])
            for (let round = 0; round < ROUNDS; round += 1) {
              const { answer } = await writeThenRead({ ...request, length, headers }, mib * MiB);
              expect([request.path, length, headers, statusesOf(answer)]).toEqual([
                request.path,
                length,
                headers,
                [status],
              ]);
              expect(answer).toMatch(/\r\nconnection: close\r\n/i);
              expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({
                message: expect.any(String),
              });
            }
    },
    600_000,
  );

  it('closes the connection of a client that sends an endless body', async () => {
    const { answer, bytes } = await endless;
    expect(statusesOf(answer)).toEqual(['401']);
    // The service discards a part of these bytes. The other bytes are in the buffers of the two sockets.
    expect(bytes).toBeLessThan(48 * MiB);
  });

  it('closes the connection if the rest of the body does not arrive within the request timeout', async () => {
    const { answer, tookMs } = await stalled;
    expect(statusesOf(answer)).toEqual(['401']);
    expect(tookMs).toBeLessThan(20_000);
  });

  it('is not followed by a second response if the rest of a short body never arrives', async () => {
    expect(statusesOf((await absent).answer)).toEqual(['401']);
  });

  it('keeps the connection open if the body is short', async () => {
    const body = ' '.repeat(30_000);
    const { answer } = await talk((socket) => {
      socket.write(headOf({ path: GROUPS, length: body.length }) + body.slice(0, 100));
      socket.once('data', () =>
        socket.write(`${body.slice(100)}GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`),
      );
    }, 'at once');
    expect(statusesOf(answer)).toEqual(['401', '200']);
  });

  it('closes the connection if the body is long: requests behind the body are not executed', async () => {
    const created = JSON.stringify({ name: 'smuggled' });
    const pipelined = headOf({ path: GROUPS, key, length: created.length }) + created;
    const { answer } = await talk((socket) => {
      socket.write(headOf({ path: GROUPS, length: MiB }));
      socket.once('data', () => socket.write(Buffer.concat([Buffer.alloc(MiB, ' '), Buffer.from(pipelined)])));
    }, 'at once');
    expect(statusesOf(answer)).toEqual(['401']);
    const list = await fetch(app.url + GROUPS, { headers: { 'x-api-key': key } });
    expect(await list.text()).not.toContain('smuggled');
  });
});
