import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Command } from 'commander';
import { EventLines, type Sendable } from '../../src/cli/sending/post-events.js';
import { addEventCommands } from '../../src/cli/events.js';
import { processedCount, sendEvents, type SendOptions, SendingStopped } from '../../src/cli/sending/send-events.js';
import { sharedApp, sharedProjecting } from '../support/open-for-tests.js';
import { operatorCall } from '../support/operator-call.js';
import { createDatabase } from '../support/postgres.js';

const AT = '2026-03-01T12:00:00.000Z';

let key: string;
let folder: string;
const servers: Server[] = [];
// Before the hook that closes the API, to which the servers forward.
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  await rm(folder, { recursive: true });
});

const app = sharedApp();
// Without a projector, requests would be held once too many events wait to be counted.
const projecting = sharedProjecting(app);
beforeAll(async () => {
  key = await app.issueKey({ scopes: ['ingest'] });
  await app.issueKey({ organization: 'acme' });
  folder = await mkdtemp(join(tmpdir(), 'replay-'));
});

let eventCount = 0;
const event = (changes: Record<string, unknown> = {}): Record<string, unknown> => {
  const id = `replay-${(eventCount += 1)}`;
  return {
    specversion: '1.0',
    id,
    source: 'https://upstream.example',
    type: 'ReportFiled',
    time: AT,
    data: { organization: 'acme', reportId: id, createdAt: AT, updatedAt: AT },
    ...changes,
  };
};
const sendables = (count: number): Sendable[] =>
  Array.from({ length: count }, (_, index) => ({ json: JSON.stringify(event()), place: `line ${index + 1}` }));
const logHead = async (): Promise<bigint> => app.log.head();

/**
 * Starts a proxy to the endpoint that can interfere with a request before it is forwarded, and with its response.
 */
const startProxy = async (handle: (forward: RequestListener, count: number) => RequestListener): Promise<string> => {
  let requests = 0;
  const forward: RequestListener = (request, response) => {
    const onward = httpRequest(app.url + request.url, { method: 'POST', headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  };
  const server = createServer((request, response) => handle(forward, (requests += 1))(request, response));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};
const send = (events: Iterable<Sendable>, url = app.url, options: SendOptions = {}) =>
  sendEvents(events, { url, key }, options);

describe('Sending events', () => {
  it('sends all events in batches that the endpoint accepts, and reports the progress', async () => {
    const before = await logHead();
    const progress: number[] = [];
    const answer = await send(sendables(2_500), app.url, { onProgress: ({ accepted }) => progress.push(accepted) });
    expect(answer).toEqual({ accepted: 2_500, duplicates: 0, rejected: [], warnings: [] });
    expect(progress).toEqual([1_000, 2_000, 2_500]);
    expect((await logHead()) - before).toBe(2_500n);
  });

  it('passes on the consistency token of each batch, which makes a read include the batch', async () => {
    await projecting.stop();
    const tokens: string[] = [];
    await send(sendables(1_500), app.url, { onToken: (token) => tokens.push(token) });
    expect(tokens).toEqual([expect.stringMatching(/^[\w-]{8}\.[\w-]{22}$/), expect.any(String)]);
    for (const token of tokens) {
      const headers = { 'consistency-token': token, prefer: 'wait=0' };
      expect(await app.call('/v2/events/status', { key, headers, json: { events: [] } })).toMatchObject({
        status: 503,
      });
    }
    projecting.start();
  });

  it('sends nothing if there are no events', async () => {
    expect(await send([], 'http://127.0.0.1:1')).toEqual({ accepted: 0, duplicates: 0, rejected: [], warnings: [] });
  });

  it('limits batches to 8 MiB', async () => {
    const large = Array.from({ length: 5 }, (_, index) => ({
      json: JSON.stringify(event({ padding: 'é'.repeat(1_500_000) })),
      place: `line ${index + 1}`,
    }));
    const sizes: number[] = [];
    const url = await startProxy((forward) => (request, response) => {
      sizes.push(Number(request.headers['content-length']));
      return forward(request, response);
    });
    expect(await send(large, url)).toMatchObject({ accepted: 5 });
    expect(sizes).toHaveLength(3);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(8 * 1024 * 1024);
  });

  it('splits a batch that a proxy rejects as too large', async () => {
    const url = await startProxy((forward) => (request, response) => {
      if (Number(request.headers['content-length']) < 10_000) return forward(request, response);
      request.resume();
      request.once('end', () => response.writeHead(413).end('{"message":"too large"}'));
    });
    expect(await send(sendables(100), url)).toEqual({ accepted: 100, duplicates: 0, rejected: [], warnings: [] });
  });

  it('reports the place of each rejected event, in partly and in completely rejected batches', async () => {
    const bad = { json: JSON.stringify(event({ time: 'never' })), place: 'line 2' };
    const reason = 'time must be an RFC 3339 date-time with an offset, in the years 1970 to 9999';
    const [first, last] = sendables(2) as [Sendable, Sendable];
    expect(await send([first, bad, last])).toEqual({
      accepted: 2,
      duplicates: 0,
      rejected: [{ place: 'line 2', id: expect.any(String), issues: [reason] }],
      warnings: [],
    });
    expect(await send([bad, { json: '1', place: 'line 3' }])).toEqual({
      accepted: 0,
      duplicates: 0,
      rejected: [
        { place: 'line 2', issues: [reason] },
        { place: 'line 3', issues: ['the event must be a JSON object'] },
      ],
      warnings: [],
    });
  });

  it('rejects an event that is too large for any request, and sends all other events', async () => {
    const [first, last] = sendables(2) as [Sendable, Sendable];
    const huge = { json: JSON.stringify(event({ padding: 'x'.repeat(8 * 1024 * 1024) })), place: 'line 2' };
    const { accepted, rejected } = await send([first, huge, last]);
    expect([accepted, rejected.map(({ place }) => place)]).toEqual([2, ['line 2']]);
  });

  it('adds rejected events to one list instead of copying the list for each response', async () => {
    const bad = sendables(3_000).map(({ json, place }) => ({ json: json.replace(AT, 'never'), place }));
    const lists = new Set<unknown>();
    const { rejected } = await send(bad, app.url, { onProgress: (soFar) => lists.add(soFar.rejected) });
    expect(rejected.map(({ place }) => place)).toEqual(bad.map(({ place }) => place));
    expect([...lists]).toEqual([rejected]);
    expect(lists.has(rejected)).toBe(true);
  });

  it('counts no event twice if a response is lost', async () => {
    const before = await logHead();
    const url = await startProxy((forward, count) => (request, response) => {
      if (count !== 1) return forward(request, response);
      // The endpoint has stored all events, but its response never arrives.
      const onward = httpRequest(app.url + request.url, { method: 'POST', headers: request.headers }, () =>
        request.socket.destroy(),
      );
      request.pipe(onward);
    });
    const retries: string[] = [];
    const answer = await send(sendables(100), url, { onRetry: (reason) => retries.push(reason) });
    expect(answer).toEqual({ accepted: 0, duplicates: 100, rejected: [], warnings: [] });
    expect(retries).toHaveLength(1);
    expect((await logHead()) - before).toBe(100n);
  });

  it.each([429, 502, 503, 504])('waits and retries after status %i', async (status) => {
    const url = await startProxy((forward, count) => (request, response) => {
      if (count > 2) return forward(request, response);
      request.resume();
      request.once('end', () => response.writeHead(status, { 'retry-after': '0' }).end('{"message":"busy"}'));
    });
    const retries: string[] = [];
    const answer = await send(sendables(3), url, { onRetry: (reason) => retries.push(reason) });
    expect(answer).toMatchObject({ accepted: 3, duplicates: 0 });
    expect(retries).toEqual(Array.from({ length: 2 }, () => `${url} responded with ${status}: busy`));
  });

  it('stops if the endpoint stays unreachable, and reports how many events were processed', async () => {
    const url = await startProxy(
      (forward, count) => (request, response) =>
        count === 1 ? forward(request, response) : void request.socket.destroy(),
    );
    const stopped = (await send(sendables(2_000), url, { retryForMs: 0 }).catch(
      (error: unknown) => error,
    )) as SendingStopped;
    expect(stopped).toBeInstanceOf(SendingStopped);
    expect(stopped.message).toMatch(/^gave up after 0 s: /);
    const processed = processedCount(stopped.sent);
    expect(processed % 1_000).toBe(0);
    expect(processed).toBeLessThan(2_000);
  });

  it('stops at once if a retry would not help', async () => {
    const answer = sendEvents(sendables(1), { url: app.url, key: 'wrong' });
    await expect(answer).rejects.toThrow(`${app.url} responded with 401: API key with organization access required`);
  });

  it('continues after an interruption, and ends with the same numbers', async () => {
    const before = await logHead();
    const events = sendables(3_000);
    const stop = new AbortController();
    const interrupted = send(events, app.url, {
      signal: stop.signal,
      onProgress: ({ accepted }) => {
        if (accepted >= 1_000) stop.abort();
      },
    });
    const stopped = (await interrupted.catch((error: unknown) => error)) as SendingStopped;
    expect(stopped.message).toBe('interrupted');
    const processed = processedCount(stopped.sent);
    expect(processed).toBeGreaterThanOrEqual(1_000);
    const rest = await send(events.slice(processed));
    expect(rest.accepted + rest.duplicates).toBe(3_000 - processed);
    expect((await logHead()) - before).toBe(3_000n);
    expect(await send(events)).toEqual({ accepted: 0, duplicates: 3_000, rejected: [], warnings: [] });
  });
});

describe('The command `events send`', () => {
  const call = async (...args: string[]): Promise<{ lines: string[]; words: string; code: number | undefined }> => {
    const program = new Command().exitOverride();
    addEventCommands(program);
    const written: string[] = [];
    const stdout = jest.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
    const errorOutput: string[] = [];
    const stderr = jest.spyOn(process.stderr, 'write').mockImplementation((text) => errorOutput.push(String(text)) > 0);
    try {
      await program.parseAsync(['events', 'send', ...args], { from: 'user' });
      const code = process.exitCode as number | undefined;
      return { lines: written.join('').trimEnd().split('\n'), words: errorOutput.join(''), code };
    } finally {
      process.exitCode = undefined;
      stdout.mockRestore();
      stderr.mockRestore();
    }
  };
  const write = async (name: string, content: string | Buffer): Promise<string> => {
    const file = join(folder, name);
    await writeFile(file, content);
    return file;
  };
  const endpoint = (): string[] => ['--url', app.url, '--key-file', join(folder, 'key')];
  beforeAll(() => writeFile(join(folder, 'key'), `${key}\n`));
  afterEach(() => void delete process.env['THREAT_PROTECTION_API_KEY']);

  it('reads files line by line, including compressed files, and names file and line of each rejected event', async () => {
    const good = Array.from({ length: 5 }, () => JSON.stringify(event()));
    const bad = JSON.stringify(event({ source: '' }));
    const plain = await write('plain.ndjson', `${good[0]}\r\n\n${bad}\n{"broken\n${good[1]}`);
    const packed = await write('packed.ndjson.gz', gzipSync(`${good.slice(2).join('\n')}\n`));
    const { id } = JSON.parse(bad) as { id: string };
    const refused = await call(plain, packed, ...endpoint());
    expect(refused.lines).toEqual([
      'accepted 5',
      'duplicates 0',
      'rejected 2',
      `${plain}:4: the line is not JSON in UTF-8`,
      `${plain}:3 ${id}: source must be a non-empty string`,
    ]);
    expect(refused.code).toBe(1);
    const result = await call(packed, '--json', ...endpoint());
    expect(result.lines).toEqual(['{"accepted":0,"duplicates":3,"rejected":[],"warnings":[]}']);
    expect(result.code).toBeUndefined();
  });

  it('accepts a byte order mark at the beginning of each file, but nowhere else', async () => {
    const lines = Array.from({ length: 5 }, () => JSON.stringify(event()));
    const plain = await write('marked.ndjson', `\ufeff${lines[0]}\r\n${lines[1]}\r\n`);
    const packed = await write('marked.ndjson.gz', gzipSync(`\ufeff${lines[2]}\n`));
    const blank = await write('blank.ndjson', `\ufeff\r\n${lines[3]}\n`);
    const result = await call(plain, packed, blank, ...endpoint());
    expect([result.lines, result.code]).toEqual([['accepted 4', 'duplicates 0', 'rejected 0'], undefined]);
    const later = await write('later.ndjson', `${lines[0]}\n\ufeff${lines[4]}\n`);
    expect((await call(later, ...endpoint())).lines.at(-1)).toBe(`${later}:2: the line is not JSON in UTF-8`);
  });

  it('accepts a key file that begins with a byte order mark', async () => {
    const marked = await write('marked-key', `\ufeff${key}\r\n`);
    const file = await write('keyed.ndjson', JSON.stringify(event()));
    expect((await call(file, '--url', app.url, '--key-file', marked)).lines[0]).toBe('accepted 1');
  });

  it('reports a line over 8 MiB by its position without keeping the line in memory, and reads all other lines', async () => {
    const [first, last, longest] = [event(), event(), event()].map((each) => JSON.stringify(each));
    const limit = 8 * 1024 * 1024;
    const lines = [first, 'x'.repeat(limit + 1), last, longest!.padEnd(limit), '[' + ' '.repeat(3 * limit)];
    const file = await write('long.ndjson.gz', gzipSync(lines.join('\n')));
    const read: (string | undefined)[] = [];
    const events = new EventLines([file], 0);
    for await (const { json, place } of events.events()) read.push(`${place} ${json.length}`);
    expect(read).toEqual([`${file}:1 ${first!.length}`, `${file}:3 ${last!.length}`, `${file}:4 ${limit}`]);
    const issues = ['the line is longer than 8388608 bytes'];
    expect(events.rejected).toEqual([
      { place: `${file}:2`, issues },
      { place: `${file}:5`, issues },
    ]);
    const skipping = new EventLines([file], 3);
    const places: string[] = [];
    for await (const { place } of skipping.events()) places.push(place);
    expect([places, skipping.rejected.map(({ place }) => place)]).toEqual([[`${file}:4`], [`${file}:5`]]);
  });

  it('skips as many events as --from says', async () => {
    const file = await write('from.ndjson', Array.from({ length: 10 }, () => JSON.stringify(event())).join('\n'));
    expect((await call(file, '--from', '7', ...endpoint())).lines[0]).toBe('accepted 3');
  });

  it('fails with exit code 1 if a file is missing, corrupt or a folder', async () => {
    const good = await write('good.ndjson', JSON.stringify(event()));
    const broken = await write('broken.ndjson.gz', gzipSync('x'.repeat(10_000)).subarray(0, 30));
    for (const files of [[join(folder, 'none')], [good, join(folder, 'none')], [broken], [folder]])
      expect((await call(...files, ...endpoint())).code).toBe(1);
  });

  it.each([
    [['--from', 'x']],
    [['--url', 'http://127.0.0.1:1']],
    [['--url', 'example', '--key-file', 'k']],
    [['--url', 'http://user:hunter2@127.0.0.1:1']],
  ])('reports wrong usage for %j', async (options) => {
    const { code, words } = await call('x', ...options);
    expect([code, words.includes('hunter2')]).toEqual([2, false]);
  });

  it.each([[['--key', 'tp_secret']], [['--key=tp_secret']], [['--key']]])(
    'rejects a key on the command line (%j), and names the right ways to pass it',
    async (args) => {
      const { code, words, lines } = await call('x', ...args);
      expect([code, lines]).toEqual([2, ['']]);
      expect(words).toMatch(/THREAT_PROTECTION_API_KEY.*--key-file/);
      expect(words).not.toContain('tp_secret');
    },
  );

  it('reads the key from --key-file, or else from THREAT_PROTECTION_API_KEY', async () => {
    const file = await write('keyed.ndjson', JSON.stringify(event()));
    process.env['THREAT_PROTECTION_API_KEY'] = key;
    expect((await call(file, '--url', app.url)).lines[0]).toBe('accepted 1');
    process.env['THREAT_PROTECTION_API_KEY'] = 'tp_wrong';
    expect((await call(file, '--url', app.url)).words).toContain('responded with 401');
    expect((await call(file, ...endpoint())).lines[1]).toBe('duplicates 1');
  });

  it('names the database of its own key if the service does not know the key', async () => {
    const file = await write('elsewhere.ndjson', JSON.stringify(event()));
    const other = await createDatabase();
    try {
      const env = { DATABASE_URL: other.url, PORT: new URL(app.url).port };
      const { code, err } = await operatorCall(env, 'events', 'send', file);
      expect(code).toBe(1);
      expect(err).toContain('issued the key in DATABASE_URL, which is not the database of that service');
    } finally {
      await other.drop();
    }
  });

  it('reads the key from standard input unless the events are read from there', async () => {
    const file = await write('by-input.ndjson', JSON.stringify(event()));
    const input = Readable.from([Buffer.from(`${key}\r\n`)]) as typeof process.stdin;
    const stdin = jest.spyOn(process, 'stdin', 'get').mockReturnValue(input);
    expect((await call(file, '--url', app.url, '--key-file', '-')).lines[0]).toBe('accepted 1');
    stdin.mockRestore();
    const both = await call('-', file, '--url', app.url, '--key-file', '-');
    expect([both.code, both.words]).toEqual([2, 'Standard input cannot be both the events and the key\n']);
  });

  it('describes the problem with a key without repeating the key', async () => {
    const file = await write('unkeyed.ndjson', JSON.stringify(event()));
    for (const content of ['', '\n', 'tp_one\ntp_two', 'tp_é', 'tp_two words', `tp_${'x'.repeat(5_000)}`]) {
      const keyFile = await write('bad-key', content);
      const { code, words } = await call(file, '--url', app.url, '--key-file', keyFile);
      expect([content.length, code, words]).toEqual([
        content.length,
        2,
        `${keyFile} must contain only the key, on one line\n`,
      ]);
    }
    process.env['THREAT_PROTECTION_API_KEY'] = 'tp_two words';
    expect((await call(file, '--url', app.url)).words).toBe(
      'THREAT_PROTECTION_API_KEY must contain only the key, on one line\n',
    );
    const none = await call(file, '--url', app.url, '--key-file', join(folder, 'none'));
    expect([none.code, none.words]).toEqual([2, expect.stringMatching(/^the key cannot be read from .*none: /)]);
  });

  it('names the rejected events also if sending stops, because the advised call leaves them out', async () => {
    const lines = Array.from({ length: 2_100 }, () => JSON.stringify(event()));
    const bad = event({ source: '' });
    const file = await write('stopped.ndjson', [JSON.stringify(bad), '{"broken', ...lines].join('\n'));
    const url = await startProxy((forward, count) => (request, response) => {
      if (count <= 2) return forward(request, response);
      request.resume();
      request.once('end', () => response.writeHead(401).end('{"message":"revoked"}'));
    });
    const { code, words } = await call(file, '--url', url, '--key-file', join(folder, 'key'));
    expect(code).toBe(1);
    expect(words).toContain(`${file}:2: the line is not JSON in UTF-8\n${file}:1 ${String(bad['id'])}: source `);
    expect(words).toMatch(/ 2,000 events .* --from 2000 .* without the 2 rejected events above/);
  });

  it('reports how many events were processed, not how many were read', async () => {
    const padding = 'x'.repeat(300);
    const lines = Array.from({ length: 4_000 }, () => JSON.stringify(event({ padding })));
    const events = new EventLines([await write('progress.ndjson', lines.join('\n'))], 0).events();
    const fractions: (readonly [number, number])[] = [];
    await sendEvents(
      events,
      { url: app.url, key },
      {
        onProgress: ({ accepted }, { fraction }) => fractions.push([accepted, fraction!]),
      },
    );
    expect(fractions.map(([accepted]) => accepted)).toEqual([1_000, 2_000, 3_000, 4_000]);
    // The progress is as exact as the chunks in which a file is read: 64 KiB.
    for (const [accepted, fraction] of fractions) expect(Math.abs(fraction - accepted / 4_000)).toBeLessThan(0.05);
    expect(fractions.at(-1)![1]).toBe(1);
  });
});
