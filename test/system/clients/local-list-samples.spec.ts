import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { hashOf, stepsOf } from '../../../docs/examples/local-list.js';
import { Maker, randomFrom } from '../../lists/worlds.js';
import { eventually } from '../../support/eventually.js';
import { ListServer } from '../../support/list-server.js';
import { sharedApp, sharedProjecting } from '../../support/open-for-tests.js';
import { describeWith } from '../../support/tools.js';
import { sent, stored } from '../../support/upstream.js';

const EXAMPLES = 'docs/examples';
const VECTORS = JSON.parse(readFileSync(join(EXAMPLES, 'local-list-vectors.json'), 'utf8'));
const OTHER_KEY = Buffer.alloc(32, 'k').toString('base64'); // the public key of nobody
const SIGNED = spawnSync('python3', ['-c', 'import cryptography']).status === 0;
const hasPython = spawnSync('python3', ['--version']).status === 0;

const compiled = mkdtempSync(join(tmpdir(), 'local-list-'));
afterAll(() => rmSync(compiled, { recursive: true }));
const { outputText } = ts.transpileModule(readFileSync(join(EXAMPLES, 'local-list.ts'), 'utf8'), {
  compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
});
writeFileSync(join(compiled, 'local-list.mjs'), outputText);

const PYTHON = `
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("local_list", "${EXAMPLES}/local-list.py")
client = importlib.util.module_from_spec(spec)
spec.loader.exec_module(client)
def texts_of(content):
    steps = client.steps_of(content)
    return None if steps is None else [" ".join([half, result, "%016x" % client.hash_of(text), text, *ask_if]) for half, text, result, *ask_if in steps]
`;
/** Reads the vectors as a third implementation would: prints the steps of the contents, and the results after each list. */
const PYTHON_VECTORS = `${PYTHON}
client.VALID_SECONDS = float("inf")
vectors = json.load(open("${EXAMPLES}/local-list-vectors.json"))
key = ${SIGNED ? 'vectors["publicKey"]' : 'None'}
ask = client.updated(vectors["whole"]["ask"], "ask-8b", None, key)
before = client.updated(vectors["whole"]["list"], "all-8b", None, key)
after = client.updated(vectors["update"], "all-8b", before, key)
found = []
for content in (each["content"] for each in vectors["contents"]):
    results = [client.check(content, {"list": one, "ask": ask}) for one in (before, after)]
    found.append({"content": content, "before": results[0], "after": results[1], "steps": texts_of(content)})
print(json.dumps(found))
`;

const app = sharedApp({ env: { LISTS: 'on' } });
sharedProjecting(app);
let key: string;
let changes = 0;
const report = (status: 'BLOCKED' | 'ALLOWED', content: string): Promise<unknown> => {
  const at = new Date(Date.UTC(2026, 2, 1) + ++changes * 1_000).toISOString();
  const asset = { type: 'URL', content };
  const change = { changeId: `change-${changes}`, asset, status, brandReviews: [], createdAt: at, updatedAt: at };
  return app.log.appendAll([stored(sent('AssetStatusChanged', change))]);
};
beforeAll(async () => {
  key = await app.issueKey({ scopes: ['lists'] });
  await eventually('lists are built', async () => (await app.call('/v2/lists', { key })).status === 200);
});

const CLIENTS = [
  { name: 'local-list.ts', isThere: true, command: [process.execPath, join(compiled, 'local-list.mjs')] },
  { name: 'local-list.py', isThere: hasPython, command: ['python3', resolve(EXAMPLES, 'local-list.py')] },
] as const;

/** What the regular expressions of the two languages read differently unless told. */
const ODD = [
  'evil.example\n',
  'evil.exampl\u017f',
  '\u212aa.example',
  'evil.example/\u0661',
  '1.2.3.4\n',
  'x.local\n',
  '\u0661.2.3.4',
  ' a.example',
];
const textsOf = (content: string): string[] | null =>
  stepsOf(content)?.map(([half, expression, result, askIf]) => {
    const hash = hashOf(expression).toString(16).padStart(16, '0');
    return [half, result, hash, expression, ...(askIf === undefined ? [] : [askIf])].join(' ');
  }) ?? null;

describe('local-list.py', () => {
  (hasPython ? it : it.skip)('has the steps, lists and results of the vectors', () => {
    const found = JSON.parse(execFileSync('python3', ['-c', PYTHON_VECTORS], { encoding: 'utf8' }));
    expect(found).toEqual(VECTORS.contents);
  });

  (hasPython ? it : it.skip)('refuses data that are longer than their numbers', () => {
    const coded = { firstValue: '5', riceParameter: 3, entriesCount: 2, encodedData: 'A'.repeat(40) };
    const script = `${PYTHON}client.decode(json.load(sys.stdin))`;
    const { stderr } = spawnSync('python3', ['-c', script], { input: JSON.stringify(coded), encoding: 'utf8' });
    expect(stderr).toContain('ValueError: 40 characters cannot be 2 numbers with parameter 3');
  });

  (hasPython ? it : it.skip)('has the steps of local-list.ts for random contents', () => {
    const makers = Array.from({ length: 500 }, (_, seed) => new Maker(randomFrom(seed)));
    const contents = makers.flatMap((maker) => Array.from({ length: 10 }, () => maker.content()));
    const script = `${PYTHON}print(json.dumps([texts_of(content) for content in json.load(sys.stdin)]))`;
    const options = { input: JSON.stringify([...contents, ...ODD]), encoding: 'utf8', maxBuffer: 2 ** 27 } as const;
    const found = JSON.parse(execFileSync('python3', ['-c', script], options)) as unknown[];
    for (const [n, content] of [...contents, ...ODD].entries())
      expect([content, found[n]]).toEqual([content, textsOf(content)]);
  });
});

const describeClient = ({ name, isThere, command }: (typeof CLIENTS)[number]): void => {
  (isThere ? describe : describeWith(false, 'python3'))(name, () => {
    let folder: string;
    let running: ChildProcess;
    let [out, err] = ['', ''];
    let server: ListServer;
    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), 'local-list-'));
      server = new ListServer();
    });
    afterEach(async () => {
      await kill();
      await server.stop().catch(() => undefined);
      rmSync(folder, { recursive: true });
    });

    const kill = async (): Promise<void> => {
      if (running.exitCode !== null || running.signalCode !== null) return;
      running.kill('SIGKILL');
      await once(running, 'exit');
    };
    const start = (service: string, env: Record<string, string> = {}): void => {
      [out, err] = ['', ''];
      running = spawn(command[0], [command[1], service], { cwd: folder, env: { ...process.env, ...env } });
      running.stdout!.on('data', (chunk: Buffer) => (out += String(chunk)));
      running.stderr!.on('data', (chunk: Buffer) => (err += String(chunk)));
      running.stdin!.on('error', () => undefined);
    };
    const check = async (content: string): Promise<string> => {
      const lines = out.split('\n').length;
      running.stdin!.write(`${content}\n`);
      await eventually('a line is answered', () => out.split('\n').length > lines);
      return out.split('\n').at(-2)!;
    };
    /**
     * Responds as the service, whose lists never change after `update`.
     * @param before precedes the body of `all-8b`
     */
    const respond = (change: (body: Record<string, unknown>) => object = (body) => body, before = ''): void => {
      server.behave = (request: IncomingMessage, response: ServerResponse) => {
        const isAsk = request.url!.startsWith('/v2/lists/ask-8b');
        const whole = isAsk ? VECTORS.whole.ask : VECTORS.whole.list;
        const body = request.url!.endsWith(`?since=${VECTORS.whole.list.version}`) ? VECTORS.update : whole;
        response.writeHead(200, { 'content-type': 'application/json' });
        const text = JSON.stringify(change({ ...body, minimumWaitSeconds: isAsk ? 1_000 : 0 }));
        response.end(isAsk ? text : before + text);
      };
    };
    const paths = (): string[] => server.requests.map(({ path }) => path).filter((path) => path.includes('all-8b'));

    it('says what the service says, follows it, and continues after a kill', async () => {
      await report('BLOCKED', 'evil.example');
      start(app.url, { LISTS_KEY: key });
      await eventually('a list has it', async () => (await check('https://a.evil.example/x')).startsWith('LISTED'));
      expect(await check('https://fine.example/x')).toBe('NOT_LISTED https://fine.example/x');
      expect(await check('https://medium.com/somebody')).toBe('ASK https://medium.com/somebody');
      await report('ALLOWED', 'evil.example');
      await eventually('the client follows', async () => (await check('evil.example')).startsWith('NOT_LISTED'));
      await kill();
      start('http://127.0.0.1:9', { LISTS_KEY: key });
      expect(await check('evil.example')).toBe('NOT_LISTED evil.example');
      expect(err).toContain('trying again in');
    });

    it('asks for what has changed, and for the whole list if an update does not fit', async () => {
      const { version } = VECTORS.whole.list;
      let isSpoilt = true;
      respond((body) => {
        const isUpdate = body['version'] === VECTORS.update.version;
        if (isUpdate && isSpoilt) return { ...body, removals: undefined };
        return body;
      });
      start(await server.start());
      await eventually('it has asked three times', () => paths().length >= 3);
      expect(paths().slice(0, 3)).toEqual([
        '/v2/lists/all-8b',
        `/v2/lists/all-8b?since=${version}`,
        '/v2/lists/all-8b',
      ]);
      expect(err).toContain('checksum');
      isSpoilt = false;
      const file = join(folder, 'all-8b.json');
      await eventually('the update is saved', () =>
        existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).version === VECTORS.update.version : false,
      );
    });

    const inHours = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();
    it.each([
      ['months ago', VECTORS.whole.list.cutAt, 'STALE'],
      ['23 hours ago', inHours(-23), 'LISTED'],
      ['23 hours ahead of the clock', inHours(23), 'LISTED'],
      ['25 hours ahead of the clock', inHours(25), 'STALE'],
      ['at no instant', 'soon', 'STALE'],
    ])('knows whether lists are current that were cut %s', async (_, cutAt, result) => {
      respond((body) => ({ ...body, cutAt }));
      start(await server.start());
      expect(await check('evil.example')).toBe(`${result} evil.example`);
    });

    it.each([
      ['Wed, 21 Oct 2026 07:28:00 GMT', '1.0'],
      ['nan', '1.0'],
      ['-5', '1.0'],
      ['7', '7.0'],
      ['1e30', '3600.0'],
    ])('waits after Retry-After: %s for %s s', async (retryAfter, seconds) => {
      server.behave = (_, response) => response.writeHead(503, { 'retry-after': retryAfter }).end();
      start(await server.start());
      expect(await check('evil.example')).toBe('STALE evil.example');
      expect(err.match(/(?<=all-8b: .* in ).*(?= s)/)?.[0]).toBe(seconds);
      if (seconds === '1.0') await eventually('it asks again', () => paths().length >= 2);
    });

    it('waits for at most an hour, and at no interval that is no number', async () => {
      respond((body) => ({ ...body, minimumWaitSeconds: 1e300 }));
      start(await server.start(), { LISTS_EVERY_SECONDS: 'often' });
      for (let n = 0; n < 2; n += 1) expect(await check('evil.example')).toBe('STALE evil.example');
      expect([err, paths().length]).toEqual(['', 1]);
    });

    it('reads at most 64 MB of a response', async () => {
      respond((body) => body, ' '.repeat(2 ** 26));
      start(await server.start());
      const saved = join(folder, 'all-8b.json');
      await eventually('it is read', () => err.includes('all-8b') || existsSync(saved));
      expect(err).toContain('all-8b: The response has more than 67108864 bytes');
      expect(existsSync(saved)).toBe(false);
    });

    const withSignatures = name.endsWith('.ts') || SIGNED ? it : it.skip;
    withSignatures('accepts only what is signed with the key, by name and content', async () => {
      const key = VECTORS.publicKey as string;
      const url = await server.start();
      const saved = join(folder, 'all-8b.json');
      for (const spoil of [
        { signature: VECTORS.whole.ask.signature },
        { signature: undefined },
        { cutAt: '2026-03-02T12:00:00.000Z' },
        VECTORS.whole.ask,
      ]) {
        respond((body) => (body['name'] === 'all-8b' ? { ...body, ...spoil } : body));
        start(url, { LISTS_PUBLIC_KEY: key });
        await eventually('it is refused', () => /all-8b: .*(?:not signed|instead of)/.test(err));
        await kill();
        expect(existsSync(saved)).toBe(false);
      }
      respond();
      for (const keys of [OTHER_KEY, ' ']) {
        start(url, { LISTS_PUBLIC_KEY: keys });
        await eventually('another key refuses it', () => /all-8b: .*not signed/.test(err));
        await kill();
      }
      for (const keys of [key, `${OTHER_KEY} ${key}`, ` ${key}  ${OTHER_KEY}\n`]) {
        rmSync(saved, { force: true });
        start(url, { LISTS_PUBLIC_KEY: keys });
        await eventually('it is accepted', () => err !== '' || existsSync(saved));
        await kill();
        expect(err).toBe('');
      }
    });

    it('sends the key to no other address, and keeps asking', async () => {
      const other = new ListServer();
      const location = await other.start();
      server.behave = (_, response) => response.writeHead(307, { location: `${location}/` }).end();
      start(await server.start(), { LISTS_KEY: key });
      await eventually('it asks again', () => paths().length >= 2);
      expect([other.connections, server.requests[0]!.headers['x-api-key']]).toEqual([0, key]);
      await other.stop();
    });
  });
};
for (const client of CLIENTS) describeClient(client);
