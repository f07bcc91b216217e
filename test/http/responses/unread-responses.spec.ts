import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, describe, expect, it } from '@jest/globals';
import fastify, { type FastifyInstance } from 'fastify';
import { ByteBudget } from '../../../src/flow/budgets.js';
import type { Caller } from '../../../src/http/access/caller.js';
import { limitPipelining } from '../../../src/http/connections.js';
import { UnreadResponses } from '../../../src/http/responses/unread-responses.js';
import { sendError } from '../../../src/http/errors/error-response.js';
import { eventually } from '../../support/eventually.js';

const MiB = 1024 * 1024;
/** More than the buffers of the operating system hold. */
const LARGE = 16 * MiB;

const sockets: Socket[] = [];
const servers: FastifyInstance[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) await server.close();
});

/**
 * Starts a server. A path names an organization and a kind of response (`text`, `stream`, `shared`, `list`, `published`):
 * `/acme/text`.
 */
const serve = async () => {
  const budget = new ByteBudget({
    name: 'unread responses',
    perOwner: LARGE,
    total: 3 * LARGE,
    smallSize: 0,
    reservedForSmall: 0,
  });
  const unread = new UnreadResponses(budget);
  const server = fastify();
  servers.push(server);
  limitPipelining(server.server, () => {});
  const [shared, list] = [Buffer.alloc(LARGE, 'x'), Buffer.alloc(LARGE, 'x')];
  server.decorateRequest('caller', null);
  server.decorateRequest('access', null);
  server.setErrorHandler((error, request, reply) => sendError(error, request, reply));
  server.addHook('onSend', async (request, reply, payload) =>
    unread.charge(request, reply, payload, payload === shared),
  );
  server.get<{ Params: { organization: string; what: string } }>('/:organization/:what', async (request) => {
    const { organization, what } = request.params;
    request.caller = { keyId: organization, organization, scopes: [] } satisfies Caller;
    if (what === 'shared') return shared;
    if (what === 'published') {
      request.access = { scope: 'lists', hasPublishedKeys: true };
      return 'x'.repeat(LARGE);
    }
    if (what === 'list') {
      request.access = { scope: 'lists', sharesBuffers: true };
      return list;
    }
    return what === 'text' ? 'x'.repeat(LARGE) : Readable.from(Array.from({ length: 512 }, () => Buffer.alloc(65_536)));
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
  const { port } = server.server.address() as AddressInfo;
  /** Sends requests on a new connection, and reads only the first packet of the responses. */
  const askFrom = async (localAddress: string, ...paths: string[]): Promise<{ status: string; socket: Socket }> => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    sockets.push(socket);
    socket.on('error', () => {});
    socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
    const head = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
    socket.pause();
    return { status: head.toString('latin1').slice(9, 12), socket };
  };
  const ask = (...paths: string[]): ReturnType<typeof askFrom> => askFrom('127.0.0.1', ...paths);
  return { budget, ask, askFrom };
};

describe('Responses that clients have not read', () => {
  it('are charged to their organization only, until the client has read them', async () => {
    const { budget, ask } = await serve();
    const first = await ask('/acme/text');
    expect(budget.total).toBe(LARGE);
    expect((await ask('/acme/text')).status).toBe('429');
    expect((await ask('/globex/text')).status).toBe('200');
    expect(budget.total).toBe(2 * LARGE);
    first.socket.resume();
    await eventually('the first response is read', () => budget.total === LARGE);
    expect((await ask('/acme/text')).status).toBe('200');
  });

  it('are charged to each address that has a published key', async () => {
    const { ask, askFrom } = await serve();
    expect((await ask('/acme/published')).status).toBe('200');
    expect((await ask('/acme/published')).status).toBe('429');
    expect((await askFrom('127.0.0.2', '/acme/published')).status).toBe('200');
  });

  it('are limited in total', async () => {
    const { ask } = await serve();
    for (const organization of ['a', 'b', 'c']) expect((await ask(`/${organization}/text`)).status).toBe('200');
    expect((await ask('/d/text')).status).toBe('503');
  });

  it('are released when their connection closes, including queued responses', async () => {
    const { budget, ask } = await serve();
    const { socket } = await ask('/a/text', '/b/text', '/c/text');
    await eventually('all three responses wait', () => budget.total === 3 * LARGE);
    socket.destroy();
    await eventually('all responses are released', () => budget.total === 0);
    expect((await ask('/a/text')).status).toBe('200');
  });

  it('are charged 128 KiB as a stream, and nothing if all clients share the bytes', async () => {
    const { budget, ask } = await serve();
    await ask('/acme/stream');
    expect(budget.total).toBe(128 * 1024);
    await ask('/acme/shared');
    expect(budget.total).toBe(128 * 1024);
  });

  it('are charged once as a list, until the last client has read it', async () => {
    const { budget, ask } = await serve();
    const readers = [await ask('/acme/list'), await ask('/acme/list'), await ask('/globex/list')];
    expect(readers.map(({ status }) => status)).toEqual(['200', '200', '200']);
    expect(budget.total).toBe(LARGE);
    for (const { socket } of readers.slice(0, 2)) socket.destroy();
    // The client that was charged is so still, although it no longer reads.
    expect((await ask('/acme/text')).status).toBe('429');
    expect(budget.total).toBe(LARGE);
    readers[2]!.socket.resume();
    await eventually('the last client has read the list', () => budget.total === 0);
    expect((await ask('/acme/list')).status).toBe('200');
    expect(budget.total).toBe(LARGE);
  });
});
