import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CircuitBreaker, LookupSource, type Outcome } from '../../src/asset-check/lookup-source.js';
import { eventually } from '../support/eventually.js';
import { brief } from '../support/list-of.js';
import { answers, ListServer, sends } from '../support/list-server.js';
import { USER_AGENT } from '../../src/runtime/version.js';

/** Longer than a request takes on a busy machine. */
const TIMEOUT_MS = 120_000;

const json = (value: unknown): ReturnType<typeof sends> =>
  sends(JSON.stringify(value), { 'content-type': 'application/json' });

describe('LookupSource', () => {
  let server: ListServer;
  let url: string;
  let source: LookupSource;

  const lookUp = (timeoutMs = 5_000, onOutcome?: (outcome: Outcome, error?: unknown) => void): LookupSource =>
    new LookupSource(
      {
        id: 'partner',
        kind: 'http',
        mode: 'ENABLED',
        url: `${url}/v2/asset/check`,
        headers: { 'x-api-key': 'secret' },
        timeoutMs,
      },
      onOutcome,
    );

  const ask = async (content: string, budgetMs = 10_000, lookup = source, organization = 'acme'): Promise<string> =>
    brief(await lookup.check(content, organization, performance.now() + budgetMs));

  beforeEach(async () => {
    server = new ListServer();
    url = await server.start();
    source = lookUp();
  });

  afterEach(() => server.stop());

  it('sends the content and the configured headers, and reads status and reason of the response', async () => {
    let body = '';
    server.behave = (request, response) => {
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => json({ status: 'BLOCKED', reason: 'parent-domain', more: 1 })(request, response));
    };
    expect(await ask('https://a.evil.example/x')).toBe('BLOCKED parent-domain');
    expect(JSON.parse(body)).toEqual({ content: 'https://a.evil.example/x' });
    expect(server.requests).toMatchObject([
      {
        path: '/v2/asset/check',
        headers: { 'x-api-key': 'secret', 'content-type': 'application/json', 'user-agent': USER_AGENT },
      },
    ]);
  });

  it('reports the outcome of each lookup, and whether the circuit breaker is open', async () => {
    const outcomes: Outcome[] = [];
    const reasons: unknown[] = [];
    const watched = lookUp(1_500, (outcome, error) => {
      outcomes.push(outcome);
      if (error !== undefined) reasons.push(error);
    });
    server.behave = json({ status: 'BLOCKED' });
    await Promise.all([ask('a.example', 10_000, watched), ask('a.example', 10_000, watched)]);
    await ask('a.example', 10_000, watched);
    expect(outcomes.splice(0).sort()).toEqual(['BLOCKED', 'remembered', 'shared']);
    expect(watched.isCircuitOpen).toBe(false);
    server.behave = () => {};
    await ask('b.example', 10_000, watched);
    server.behave = answers(503);
    for (const name of ['c', 'd', 'e', 'f', 'g']) await ask(`${name}.example`, 10_000, watched);
    expect(outcomes).toEqual(['timeout', 'error', 'error', 'error', 'error', 'skipped']);
    // Failed lookups have an error; lookups that were not sent have none.
    expect(reasons).toHaveLength(5);
    for (const reason of reasons) expect((reason as Error).message).not.toBe('');
    expect(watched.isCircuitOpen).toBe(true);
  });

  it.each([
    [{ status: 'BLOCKED' }, 'BLOCKED'],
    [{ status: 'BLOCKED', reason: null }, 'BLOCKED'],
    [{ status: 'BLOCKED', reason: 'external-source' }, 'BLOCKED'],
    [{ status: 'ALLOWED', reason: 'parent-domain' }, 'ALLOWED parent-domain'],
    [{ status: 'UNKNOWN' }, 'not-found'],
    [{ status: 'UNKNOWN', reason: 'not-found' }, 'not-found'],
    [{ status: 'UNKNOWN', reason: 'unsupported-type' }, 'unsupported-type'],
    [{ status: 'UNKNOWN', reason: 'hosting-domain' }, 'hosting-domain'],
    [{ status: 'UNKNOWN', reason: 'timeout' }, 'timeout'],
    [{ status: 'UNKNOWN', reason: 'source-error' }, 'source-error'],
    [{ status: 'blocked' }, 'source-error'],
    [{ status: 'BLOCKED', reason: 'because' }, 'BLOCKED'],
    [{ status: 'UNKNOWN', reason: 'because' }, 'not-found'],
    [{ status: 'ALLOWED', reason: 'timeout' }, 'ALLOWED'],
    [{ status: 'BLOCKED', reason: 7 }, 'BLOCKED'],
    [{}, 'source-error'],
    [[], 'source-error'],
    [null, 'source-error'],
    ['BLOCKED', 'source-error'],
  ])('reads the response %j as %s', async (answer, result) => {
    server.behave = json(answer);
    expect(await ask('evil.example')).toBe(result);
  });

  it.each([
    ['responds with 500', answers(500, {}, '{"status":"BLOCKED"}')],
    ['responds with 401', answers(401)],
    ['redirects', (request: never, response: never) => answers(307, { location: `${url}/other` })(request, response)],
    ['sends text that is not JSON', sends('BLOCKED')],
    ['sends incomplete JSON', sends('{"status":"BLO')],
    ['sends more than 64 KiB', sends(`{"status":"BLOCKED","x":"${'x'.repeat(100_000)}"}`)],
    ['closes the connection at once', (request: { socket: { destroy(): void } }) => request.socket.destroy()],
  ] as const)('returns source-error if the server %s', async (_, behaviour) => {
    server.behave = behaviour as ListServer['behave'];
    expect(await ask('evil.example')).toBe('source-error');
    expect(server.requests).toHaveLength(1);
  });

  it('returns timeout after its own timeout or at the deadline of the check, whichever comes first', async () => {
    server.behave = () => undefined;
    const started = performance.now();
    expect(await ask('evil.example', 10_000, lookUp(200))).toBe('timeout');
    expect(await ask('evil2.example', 50, lookUp(60_000))).toBe('timeout');
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  it('sends one request for equal contents, and never uses the result of one content for another content', async () => {
    server.behave = (request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => json({ status: body.includes('bad') ? 'BLOCKED' : 'UNKNOWN' })(request, response));
    };
    const contents = ['fine', 'bad'].flatMap((word) =>
      [`https://a.example/go?to=${word}`, `https://a.example/#${word}`].flatMap((content) => [content, content]),
    );
    const expected = ['fine', 'bad'].flatMap((word) => Array<string>(4).fill(word === 'bad' ? 'BLOCKED' : 'not-found'));
    expect(await Promise.all(contents.map((content) => ask(content)))).toEqual(expected);
    for (const [index, content] of contents.entries()) expect(await ask(content)).toBe(expected[index]);
    expect(server.requests).toHaveLength(4);
  });

  it('opens the circuit breaker for an outage of the server, and never for a response to one content', async () => {
    const failures = async (behaviour: ListServer['behave'], timeoutMs = 5_000): Promise<boolean> => {
      const watched = lookUp(timeoutMs);
      server.behave = behaviour;
      for (let n = 0; n < 6; n += 1) await ask(`${n}.example`, 10_000, watched);
      return watched.isCircuitOpen;
    };
    for (const behaviour of [answers(400), answers(401), answers(404), answers(302, { location: '/' })])
      expect(await failures(behaviour)).toBe(false);
    for (const body of ['{}', '{', `"${'x'.repeat(100_000)}"`]) expect(await failures(sends(body))).toBe(false);
    for (const behaviour of [answers(429), answers(500), answers(503)]) expect(await failures(behaviour)).toBe(true);
    expect(await failures((request) => request.socket.destroy())).toBe(true);
    expect(await failures(() => {}, 50)).toBe(true);
  });

  it('gives each lookup that shares a request its own deadline', async () => {
    let answer = (): void => {};
    server.behave = (request, response) => void (answer = () => json({ status: 'BLOCKED' })(request, response));
    const first = ask('evil.example', 1_000);
    await eventually('the server has the request', () => server.requests.length === 1);
    const second = ask('evil.example', 10_000, source, 'globex');
    expect(await first).toBe('timeout');
    answer();
    expect(await second).toBe('BLOCKED');
    expect(server.requests).toHaveLength(1);
  });

  it('answers an organization in time while another organization sends bulk checks and contents that the server rejects', async () => {
    server.behave = (request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const behaviour = body.includes('rejected') ? answers(400) : json({ status: 'BLOCKED' });
        setTimeout(() => behaviour(request, response), 50);
      });
    };
    const shared = lookUp();
    const isOver = { value: false };
    const rejected = (async (): Promise<void> => {
      for (let n = 0; !isOver.value; n += 1) await ask(`rejected-${n}.example`, 10_000, shared, 'busy');
    })();
    const bulk = Array.from({ length: 2_000 }, (_, n) => ask(`bulk-${n}.example`, 3_000, shared, 'busy'));
    let inTime = 0;
    for (let n = 0; n < 20; n += 1)
      if ((await ask(`quiet-${n}.example`, 1_500, shared, 'quiet')) === 'BLOCKED') inTime += 1;
    isOver.value = true;
    await Promise.all([rejected, ...bulk]);
    expect(inTime).toBeGreaterThanOrEqual(19);
  });

  it('keeps half of the requests for other organizations, whose lookups do not wait behind equal ones', async () => {
    const held: (() => void)[] = [];
    server.behave = (request, response) => void held.push(() => json({ status: 'UNKNOWN' })(request, response));
    const patient = lookUp(TIMEOUT_MS);
    const busy = Array.from({ length: 60 }, (_, n) => ask(`site-${n}.example`, TIMEOUT_MS, patient));
    await eventually('the server holds 25 requests', () => held.length === 25);
    // The other organization has queued the same content, and an impatient lookup of it, long before.
    const impatient = ask('site-59.example', 10, patient);
    const bystander = ask('site-59.example', TIMEOUT_MS, patient, 'globex');
    await eventually('the server holds the request of the bystander', () => held.length === 26);
    for (const answer of held.splice(25)) answer();
    expect([await bystander, await impatient]).toEqual(['not-found', 'timeout']);
    server.behave = json({ status: 'UNKNOWN' });
    for (const answer of held) answer();
    expect(new Set(await Promise.all(busy))).toEqual(new Set(['not-found']));
  });

  it('does not cache failures', async () => {
    server.behave = answers(500);
    expect(await ask('evil.example')).toBe('source-error');
    server.behave = json({ status: 'BLOCKED' });
    expect(await ask('evil.example')).toBe('BLOCKED');
  });

  it('sends at most 50 requests at once, and no lookup waits beyond its deadline', async () => {
    const heldResponses: (() => void)[] = [];
    const hold: ListServer['behave'] = (request, response) =>
      void heldResponses.push(() => json({ status: 'UNKNOWN' })(request, response));
    const askAll = (budgetMs: number, lookup: LookupSource): Promise<string>[] =>
      Array.from({ length: 120 }, (_, n) => ask(`site-${n}.example`, budgetMs, lookup, `organization-${n % 3}`));
    // Once the server has responded to the request of another source, it has received all earlier requests.
    const everythingHasArrived = async (): Promise<void> => {
      server.behave = json({ status: 'UNKNOWN' });
      expect(await ask('last.example', TIMEOUT_MS, lookUp(TIMEOUT_MS))).toBe('not-found');
      server.behave = hold;
    };
    server.behave = hold;
    const withLongBudget = lookUp(TIMEOUT_MS);
    const all = askAll(TIMEOUT_MS, withLongBudget);
    for (let answered = 0; answered < 120;) {
      const maxHeld = Math.min(50, 120 - answered);
      await eventually('the server holds the maximum number of requests', () => heldResponses.length >= maxHeld);
      await everythingHasArrived();
      expect(heldResponses).toHaveLength(maxHeld);
      answered += maxHeld;
      for (const answer of heldResponses.splice(0)) answer();
    }
    expect(new Set(await Promise.all(all))).toEqual(new Set(['not-found']));
    const withShortBudget = lookUp(TIMEOUT_MS);
    expect(new Set(await Promise.all(askAll(50, withShortBudget)))).toEqual(new Set(['timeout']));
    await everythingHasArrived();
    const sent = server.requests.length;
    server.behave = json({ status: 'UNKNOWN' });
    for (const answer of heldResponses.splice(0)) answer();
    // Lookups that waited for a slot past their deadline are not sent.
    expect(await ask('behind.example', TIMEOUT_MS, withShortBudget)).toBe('not-found');
    expect(server.requests).toHaveLength(sent + 1);
  });
});

describe('CircuitBreaker', () => {
  it('opens after five consecutive failures, allows one probe after 10 s, and closes when the probe succeeds', () => {
    let now = 0;
    const breaker = new CircuitBreaker(() => now);
    const fail = (): void => {
      expect(breaker.allows()).toBe(true);
      breaker.report(false);
    };
    for (let n = 0; n < 4; n += 1) fail();
    expect(breaker.allows()).toBe(true);
    breaker.report(true);
    for (let n = 0; n < 5; n += 1) fail();
    expect(breaker.allows()).toBe(false);
    now += 9_999;
    expect(breaker.allows()).toBe(false);
    now += 1;
    expect(breaker.allows()).toBe(true);
    expect(breaker.allows()).toBe(false);
    breaker.report(false);
    expect(breaker.allows()).toBe(false);
    now += 10_000;
    expect(breaker.allows()).toBe(true);
    breaker.report(true);
    expect([breaker.allows(), breaker.allows()]).toEqual([true, true]);
  });
});
