import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { BEGINNING } from '../../../src/event-log/event-log.js';
import { startApp, type TestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import { IS_FULL_SIZE } from '../../support/full-size.js';
import { describeWith } from '../../support/tools.js';

/** All cases run only before a release, because each case starts one or more processes of each sender. */
const EVERY_CASE = IS_FULL_SIZE;
const FOLDER = 'docs/examples';
const AT = '2026-03-01T12:00:00.000Z';

let app: TestApp;
let key: string;
let folder: string;
let compiled: string;

beforeAll(async () => {
  app = await startApp();
  key = await app.issueKey({ scopes: ['ingest'] });
  compiled = mkdtempSync(join(tmpdir(), 'senders-'));
  const { outputText } = ts.transpileModule(readFileSync(join(FOLDER, 'send.ts'), 'utf8'), {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
  });
  writeFileSync(join(compiled, 'send.mjs'), outputText);
});
afterAll(async () => {
  rmSync(compiled, { recursive: true });
  await app.close();
});
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sender-'));
  emptySince = await app.log.head();
});
afterEach(() => rmSync(folder, { recursive: true }));

let organizations = 0;
/** The head of the log before the test. */
let emptySince = BEGINNING;
const eventsOf = (organization: string, count: number, from = 1): Record<string, unknown>[] =>
  Array.from({ length: count }, (_, index) => ({
    specversion: '1.0',
    id: `report-${from + index}:filed`,
    source: `https://${organization}.example`,
    type: 'ReportFiled',
    time: AT,
    data: { organization, reportId: `report-${from + index}`, createdAt: AT, updatedAt: AT },
  }));
const linesOf = (events: readonly unknown[]): string => events.map((event) => `${JSON.stringify(event)}\n`).join('');

/** Returns the reports of an organization in the log, each as often as the log contains it. */
const inTheLog = async (organization: string): Promise<string[]> => {
  const ids: string[] = [];
  let after = emptySince;
  for (;;) {
    const events = await app.log.readAll(after, 1_000);
    for (const { data } of events) {
      const { organization: owner, reportId } = data as { organization?: string; reportId?: string };
      if (owner === organization && reportId !== undefined) ids.push(reportId);
    }
    if (events.length < 1_000) return ids.sort();
    after = events.at(-1)!.position;
  }
};
const reportIds = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `report-${index + 1}`).sort();

interface Seen {
  readonly at: number;
  readonly events: number;
  /** The size before compression. */
  readonly bytes: number;
}

/** Handles a request on its way to the service. The requests are numbered from 1. */
type Fault = (
  request: number,
  asked: IncomingMessage,
  answer: ServerResponse,
  pass: () => Promise<Response>,
) => unknown;

/** A server in front of the service, which can inject faults. */
class Between {
  readonly seen: Seen[] = [];
  private server: Server | undefined;
  private port = 0;
  private requests = 0;

  constructor(private readonly fault: Fault) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    this.server = createServer((asked, answer) => {
      const pass = async (): Promise<Response> => {
        const body = await buffer(asked);
        const sent = gunzipSync(body);
        this.seen.push({ at: Date.now(), events: (JSON.parse(String(sent)) as unknown[]).length, bytes: sent.length });
        const headers = { ...(asked.headers as Record<string, string>) };
        for (const name of ['connection', 'host', 'content-length', 'transfer-encoding']) delete headers[name];
        return fetch(app.url + asked.url!, { method: 'POST', headers, body: new Uint8Array(body) });
      };
      void this.fault((this.requests += 1), asked, answer, pass);
    });
    this.server.listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
    this.port = (this.server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    this.server?.closeAllConnections();
    await new Promise((resolve) => this.server?.close(resolve));
  }
}

const forward = async (answer: ServerResponse, pass: () => Promise<Response>): Promise<void> => {
  const response = await pass();
  answer.writeHead(response.status, { 'content-type': 'application/json' }).end(await response.text());
};
const refuse = (answer: ServerResponse, status: number, retryAfter?: string): void => {
  const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
  answer.writeHead(status, { connection: 'close', ...headers }).end(`{"message":"refused early with ${status}"}`);
};

const hasPython = spawnSync('python3', ['-c', 'import gzip']).status === 0;
const SENDERS: readonly { name: string; isThere: boolean; command: () => [string, string] }[] = [
  { name: 'send.ts', isThere: true, command: () => [process.execPath, join(compiled, 'send.mjs')] },
  { name: 'send.py', isThere: hasPython, command: () => ['python3', join(FOLDER, 'send.py')] },
];

describe.each(SENDERS)('The sender $name', ({ isThere, command }) => {
  let child: ChildProcess;
  let server: Between | undefined;
  let file: string;
  let organization: string;
  /** The output of the last run so far. */
  let err = '';
  const retries = (): number => err.split('trying again').length - 1;

  beforeEach(async () => {
    file = join(folder, 'events.jsonl');
    organization = `sender-${(organizations += 1)}`;
    await app.issueKey({ organization });
  });
  afterEach(async () => {
    child?.kill('SIGKILL');
    await server?.stop();
    server = undefined;
  });

  const startBetween = async (fault: Fault): Promise<Between> => {
    server = new Between(fault);
    await server.start();
    return server;
  };
  const run = async (url = app.url, withKey = key) => {
    const [program, script] = command();
    child = spawn(program, [script, url, file], {
      env: { ...process.env, THREAT_PROTECTION_API_KEY: withKey },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    err = '';
    child.stdout!.on('data', (chunk: Buffer) => (out += String(chunk)));
    child.stderr!.on('data', (chunk: Buffer) => (err += String(chunk)));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, err, total: out === '' ? undefined : (JSON.parse(out) as unknown) };
  };
  const state = (): number => Number(readFileSync(`${file}.sent`, 'utf8'));
  const counted = (accepted: number, duplicates = 0, rejected = 0, warning = 0) => ({
    accepted,
    duplicates,
    rejected,
    warning,
  });

  const withSender = isThere ? describe : describeWith(false, 'python3');
  withSender('', () => {
    it('sends a file in batches of 1,000, then nothing, then what was added', async () => {
      const { url, seen } = await startBetween((_request, _asked, answer, pass) => forward(answer, pass));
      writeFileSync(file, linesOf(eventsOf(organization, 1_200)));
      expect(await run(url)).toEqual({ code: 0, err: '', total: counted(1_200) });
      expect(seen.map(({ events }) => events)).toEqual([1_000, 200]);
      expect(await inTheLog(organization)).toEqual(reportIds(1_200));
      expect(state()).toBe(1_200);
      expect(await run(url)).toEqual({ code: 0, err: '', total: counted(0) });
      expect(seen).toHaveLength(2);
      appendFileSync(file, linesOf(eventsOf(organization, 2, 1_201)));
      expect(await run(url)).toEqual({ code: 0, err: '', total: counted(2) });
      expect(state()).toBe(1_202);
    });

    it('stores each event once despite early rejections, resets, lost responses and a restart', async () => {
      writeFileSync(file, linesOf(eventsOf(organization, 1_500)));
      const tooLarge = gzipSync(JSON.stringify(eventsOf(organization, 700))).length;
      const refusedAt: number[] = [];
      const { url, seen } = await startBetween(async (request, asked, answer, pass) => {
        if (request === 1) {
          refusedAt.push(Date.now());
          return refuse(answer, 429, '2');
        }
        if (request === 2) return refuse(answer, 503);
        if (request === 3) return asked.socket.resetAndDestroy();
        if (Number(asked.headers['content-length']) > tooLarge) return refuse(answer, 413);
        if (seen.length === 1) {
          await pass();
          return asked.socket.resetAndDestroy();
        }
        if (seen.length === 3) {
          await pass();
          const before = retries();
          await server!.stop();
          await eventually('the sender has found no server', () => retries() >= before + 2);
          return server!.start();
        }
        return forward(answer, pass);
      });
      const { code, err, total } = await run(url);
      expect({ code, total }).toEqual({ code: 0, total: counted(500, 1_000) });
      expect(await inTheLog(organization)).toEqual(reportIds(1_500));
      expect(state()).toBe(1_500);
      expect(seen.map(({ events }) => events)).toEqual(Array.from({ length: 5 }, () => 500));
      expect(seen[0]!.at - refusedAt[0]!).toBeGreaterThanOrEqual(2_000);
      expect(err).toContain('429 refused early with 429; trying again in 2.0 s');
    });

    it.each<readonly [string, boolean]>([
      ['after a batch is stored, before its answer', true],
      ...(EVERY_CASE ? [['before a batch is stored', false] as const] : []),
    ])('continues after a kill %s', async (_when, isStored) => {
      const { url } = await startBetween(async (request, _asked, answer, pass) => {
        if (request !== 2) return forward(answer, pass);
        if (isStored) await pass();
        return child.kill('SIGKILL');
      });
      writeFileSync(file, linesOf(eventsOf(organization, 1_100)));
      expect(await run(url)).toMatchObject({ code: null, total: undefined });
      expect(state()).toBe(1_000);
      expect(await inTheLog(organization)).toHaveLength(isStored ? 1_100 : 1_000);
      expect(await run(url)).toMatchObject({ code: 0, total: isStored ? counted(0, 100) : counted(100) });
      expect(await inTheLog(organization)).toEqual(reportIds(1_100));
      expect(state()).toBe(1_100);
    });

    it('reports the lines with rejections or warnings, and sends the others', async () => {
      const [good, bad, odd, separated] = eventsOf(organization, 4) as [
        Record<string, unknown>,
        Record<string, unknown>,
        Record<string, unknown>,
        Record<string, unknown>,
      ];
      odd['data'] = { ...(odd['data'] as object), updatedAt: '2026-02-28T12:00:00.000Z' };
      separated['subject'] = 'two\u2028lines';
      const texts = [good, { ...bad, time: 'never' }, odd, separated].map((event) => JSON.stringify(event));
      const noJson = [Buffer.from('{"a":NaN}\n'), Buffer.from('{"a":"\xff"}\n', 'latin1'), Buffer.from('\ufeff{}\n')];
      // A file may begin with a byte order mark; any other line may not.
      writeFileSync(file, Buffer.concat([Buffer.from(`\ufeff${texts.join('\r\n')}\n\n`), ...noJson]));
      const { code, err, total } = await run();
      expect({ code, total }).toEqual({ code: 1, total: counted(3, 0, 4, 1) });
      expect(err.trim().split('\n').sort()).toEqual([
        `${file}:2 rejected: time must be an RFC 3339 date-time with an offset, in the years 1970 to 9999`,
        expect.stringContaining(`${file}:3 warning: `),
        ...[6, 7, 8].map((line) => `${file}:${line} rejected: not JSON in UTF-8`),
      ]);
      expect(await inTheLog(organization)).toEqual(['report-1', 'report-3', 'report-4']);
      expect(state()).toBe(8);
      writeFileSync(file, `${texts[1]}\n`);
      rmSync(`${file}.sent`);
      expect(await run()).toMatchObject({ code: 1, total: counted(0, 0, 1) });
    });

    if (!EVERY_CASE) return;

    it('limits a batch to 8 MiB', async () => {
      const { url, seen } = await startBetween((_request, _asked, answer, pass) => forward(answer, pass));
      const [event] = eventsOf(organization, 1) as [Record<string, unknown>];
      const empty = Buffer.byteLength(JSON.stringify({ ...event, padding: '' }));
      // Two such events fill a request to the byte. With one more byte they would exceed the limit.
      const half = (8 * 1024 * 1024 - 3) / 2;
      const sized = (bytes: number): string => linesOf([{ ...event, padding: 'x'.repeat(bytes - empty) }]);
      writeFileSync(file, sized(Math.floor(half)) + sized(Math.ceil(half)) + sized(half + 1.5) + sized(half + 1.5));
      expect((await run(url)).total).toEqual(counted(1, 3));
      expect(seen.map(({ events }) => events)).toEqual([2, 1, 1]);
      expect(seen[0]!.bytes).toBe(8 * 1024 * 1024);
    });

    it('isolates the event that makes its batch too large or unreadable', async () => {
      const headers = { 'x-api-key': key, 'content-type': 'application/cloudevents-batch+json' };
      const { url } = await startBetween(async (_request, asked, answer) => {
        const body = String(gunzipSync(await buffer(asked)));
        if (body.includes('"report-77"')) return refuse(answer, body.includes('"report-78"') ? 413 : 400);
        return forward(answer, () => fetch(`${app.url}/v2/events`, { method: 'POST', headers, body }));
      });
      writeFileSync(file, linesOf(eventsOf(organization, 100)));
      const { code, err, total } = await run(url);
      expect({ code, err, total }).toEqual({
        code: 1,
        err: `${file}:77 rejected: 400 refused early with 400\n`,
        total: counted(99, 0, 1),
      });
      expect(await inTheLog(organization)).toEqual(reportIds(100).filter((id) => id !== 'report-77'));
    });

    it('does not send a last line that is still being written', async () => {
      const text = linesOf(eventsOf(organization, 3));
      writeFileSync(file, text.slice(0, -20));
      const first = await run();
      expect(first).toMatchObject({ code: 1, total: counted(2) });
      expect(first.err).toBe(`Stopped: ${file}:3 is not complete; send again when it is\n`);
      expect(state()).toBe(2);
      // A complete last line counts even without a line break, and only once.
      writeFileSync(file, text.slice(0, -1));
      expect(await run()).toEqual({ code: 0, err: '', total: counted(1) });
      writeFileSync(file, text);
      expect(await run()).toEqual({ code: 0, err: '', total: counted(0) });
    });

    it('stops at once and keeps its position if a retry would not help', async () => {
      writeFileSync(file, linesOf(eventsOf(organization, 2)));
      const refused = await run(app.url, 'tp_none');
      expect(refused).toMatchObject({ code: 1, total: counted(0) });
      expect(refused.err).toMatch(/^Stopped: .*401 /);
      expect(existsSync(`${file}.sent`)).toBe(false);
      const { url } = await startBetween((_request, _asked, answer) =>
        answer.writeHead(307, { location: `${app.url}/v2/events` }).end(),
      );
      expect((await run(url)).err).toMatch(/^Stopped: .*307 /);
      expect(await inTheLog(organization)).toEqual([]);
    });

    it('stops if the response does not account for each event', async () => {
      writeFileSync(file, linesOf(eventsOf(organization, 2)));
      const { url } = await startBetween((_request, _asked, answer) =>
        answer.writeHead(200).end('{"accepted":1,"duplicates":0,"rejected":[]}'),
      );
      expect((await run(url)).err).toMatch(/^Stopped: 2 events were sent, but the answer is /);
      expect(existsSync(`${file}.sent`)).toBe(false);
    });

    it('stops if its saved state belongs to another file', async () => {
      writeFileSync(file, linesOf(eventsOf(organization, 2)));
      writeFileSync(`${file}.sent`, '3\n');
      const { code, err } = await run();
      expect(code).toBe(1);
      expect(err).toBe(`Stopped: ${file}.sent says 3 lines, but ${file} has 2: is it another file?\n`);
      writeFileSync(`${file}.sent`, 'three\n');
      expect((await run()).err).toContain('Stopped: ');
      expect(await inTheLog(organization)).toEqual([]);
    });
  });
});
