import { type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { TimeSlices } from '../../../src/flow/turns.js';
import { ExportRecordsHandler, MAX_ROWS } from '../../../src/records/export-records.js';
import { RECORDS_CONTROLLERS } from '../../../src/records/records.controller.js';
import { Unavailable } from '../../../src/errors.js';
import { CSV } from '../../../src/http/responses/send-snapshot.js';
import { UnreadResponses } from '../../../src/http/responses/unread-responses.js';
import { sharedApp } from '../../support/open-for-tests.js';
import { eventually } from '../../support/eventually.js';
import { projectToHead } from '../../support/projecting.js';

const ORGANIZATIONS = ['acme', 'b', 'c', 'd', 'e'];
/**
 * About 16 MB per organization: more than socket buffers hold, so that an export that nobody reads stays in progress.
 */
const ROWS = 8_000;

const app = sharedApp();
const keys: Record<string, string> = {};
const limits: { maxRows: number; readTimeoutMs: number } = { maxRows: 0, readTimeoutMs: 0 };
const opened: IncomingMessage[] = [];

beforeAll(async () => {
  await projectToHead(app.log, app.pool);
  for (const organization of ORGANIZATIONS) {
    keys[organization] = await app.issueKey({ organization });
    // One statement per organization, because the statements of this pool have a timeout.
    await app.pool.query(
      `insert into read.register
        (record, added_at, has_counted, organization, kind, id, version, event_id, position, stored_at, created_at, status, type, content)
       select gen_random_uuid(), 0, false, $1, 2, 't-' || n, n, gen_random_uuid(), n, n, n, case when n <= 3 then 'FEW' else 'BLOCKED' end, 'URL',
         repeat('x', 2000)
       from generate_series(1, ${ROWS}) n`,
      [organization],
    );
  }
});

const handler = (): { maxRows: number; readTimeoutMs: number } => app.app.get(ExportRecordsHandler);
beforeAll(() => {
  const { maxRows, readTimeoutMs } = handler();
  Object.assign(limits, { maxRows, readTimeoutMs });
});
afterEach(async () => {
  for (const answer of opened.splice(0)) answer.destroy();
  Object.assign(handler(), limits);
  // The exports have ended when the service has noticed the disconnects.
  await eventually('no export is in progress', async () => (await status('acme', '?status=NONE')) === 200);
});

/** Starts an export and returns the response without reading its body. */
const open = (organization: string, query = ''): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const url = `${app.url}/v2/organization/threats.csv${query}`;
    request(url, { headers: { 'x-api-key': keys[organization] }, agent: false }, (answer) => {
      // Callers check for an aborted response themselves.
      answer.on('error', () => undefined);
      opened.push(answer);
      resolve(answer);
    })
      .on('error', reject)
      .end();
  });
const status = async (organization: string, query = ''): Promise<number | undefined> => {
  const answer = await open(organization, query);
  answer.resume();
  return answer.statusCode;
};
const linesOf = async (answer: IncomingMessage): Promise<string[]> => (await text(answer)).trim().split('\r\n');

describe('A CSV export of records', () => {
  it('ends if its response is refused because too many bytes are unread', async () => {
    jest.spyOn(UnreadResponses.prototype, 'charge').mockImplementationOnce(() => {
      throw new Unavailable('Too many bytes are unread', 1);
    });
    expect(await status('acme', '?status=FEW')).toBe(503);
    await eventually('another export may begin', async () => (await status('acme', '?status=FEW')) === 200);
  });

  it('contains the whole selection, or is rejected with the advice to narrow the selection', async () => {
    expect(MAX_ROWS).toBe(1_000_000);
    handler().maxRows = 3;
    expect(await linesOf(await open('acme', '?status=FEW'))).toHaveLength(1 + 3);
    const refused = await open('acme');
    expect([refused.statusCode, JSON.parse(await text(refused))]).toEqual([
      422,
      {
        code: 'UNPROCESSABLE_CONTENT',
        message: 'A table has at most 3 rows; narrow the range or the filters, or use the feed to get all records',
      },
    ]);
  });

  it('is from one snapshot while records are written', async () => {
    const answer = await open('acme');
    await app.pool.query(`
      update read.register set status = 'CHANGED', created_at = created_at + 1000000 where organization = 'acme' and id like '%7';
      insert into read.register
        (record, added_at, has_counted, organization, kind, id, version, event_id, position, stored_at, created_at, status, type, content)
      select gen_random_uuid(), 0, false, 'acme', 2, 'new-' || n, n, gen_random_uuid(), n, n, -n, 'BLOCKED', 'URL', 'x' from generate_series(1, 100) n`);
    const [head, ...lines] = await linesOf(answer);
    expect(head).toBe('id,asset.type,asset.content,status,createdAt,updatedAt');
    const ids = lines.map((line) => line.split(',')[0]);
    expect([lines.length, new Set(ids).size]).toEqual([ROWS, ROWS]);
    expect(lines.join()).not.toMatch(/CHANGED|new-/);
    expect(await linesOf(await open('acme', '?status=CHANGED'))).toHaveLength(1 + ROWS / 10);
  });

  it('is limited to one per organization and four in total, and ends when its client disconnects', async () => {
    const [first] = [await open('acme'), await open('b'), await open('c'), await open('d')];
    expect(first.statusCode).toBe(200);
    const secondOfAcme = await open('acme', '?status=FEW');
    expect([secondOfAcme.statusCode, secondOfAcme.headers['retry-after']]).toEqual([429, '5']);
    const fifth = await open('e');
    expect([fifth.statusCode, fifth.headers['retry-after']]).toEqual([503, '5']);
    first.destroy();
    await eventually('the fifth export can start', async () => (await status('e', '?status=FEW')) === 200);
  });

  it('is aborted if the database or the client fails, and an incomplete export never looks complete', async () => {
    const broken = await open('acme');
    await eventually('the transaction of the export has ended', async () => {
      const { rowCount } = await app.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and state = 'idle in transaction'
           and query like '%read.register%'`,
      );
      return rowCount! > 0;
    });
    await expect(text(broken)).rejects.toThrow('aborted');
    expect(broken.complete).toBe(false);

    handler().readTimeoutMs = 300;
    const unread = await open('b');
    await eventually('the export is no longer in progress', async () => (await status('b', '?status=NONE')) === 200);
    await expect(text(unread)).rejects.toThrow('aborted');
    expect(unread.complete).toBe(false);
  });

  it('is not read for HEAD, so that the next export can start', async () => {
    const run = jest.spyOn(TimeSlices.prototype, 'run');
    const headers = { 'x-api-key': keys['acme']! };
    const head = await fetch(`${app.url}/v2/organization/threats.csv`, { method: 'HEAD', headers });
    expect([head.status, head.headers.get('content-type')]).toEqual([200, CSV]);
    expect([head.headers.get('x-as-of'), head.headers.get('content-length')]).toEqual([expect.any(String), null]);
    expect(await status('acme', '?status=NONE')).toBe(200);
    expect(run.mock.calls.filter(([owner]) => owner === 'acme').length).toBeLessThanOrEqual(1);
    run.mockRestore();
  });

  it('ends if the key was revoked before the response began, so that the next export can start', async () => {
    const table = Readable.from(['a']);
    const reply = { sent: false, header: () => reply, type: () => reply };
    // Adding the token waits, and the revocation answers 401 meanwhile.
    const tokens = { add: async () => void (reply.sent = true) };
    const queries = { execute: async () => ({ result: table, asOf: 0, position: 0 }) };
    const controller = new RECORDS_CONTROLLERS[0]!(queries, new TimeSlices(), tokens) as {
      table(...args: unknown[]): Promise<Readable>;
    };
    expect((await controller.table('acme', {}, reply)).destroyed).toBe(true);
    reply.sent = false;
    tokens.add = async () => undefined;
    const kept = Readable.from(['a']);
    queries.execute = async () => ({ result: kept, asOf: 0, position: 0 });
    expect((await controller.table('acme', {}, reply)).destroyed).toBe(false);
  });
});
