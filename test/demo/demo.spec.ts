import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../support/postgres.js';

const CLI = 'dist/src/cli.js';
const PATIENCE_MS = 180_000;

interface Run {
  readonly stdout: string;
  readonly stderr: string;
  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

let database: TestDatabase;
let folder: string;
const children: ChildProcess[] = [];

/** Runs the demo until it says that it stays up. */
const runDemo = async (): Promise<Run> => {
  const child = spawn(process.execPath, [CLI, 'demo'], {
    env: { ...process.env, DATABASE_URL: database.url, DATA_DIR: folder, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const written = { stdout: '', stderr: '' };
  const exit = once(child, 'exit');
  await new Promise<void>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => (written.stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      written.stderr += text;
      if (written.stderr.includes('stays up until Ctrl-C')) resolve();
    });
    child.once('exit', (code) => reject(new Error(`The demo ended with ${code}: ${written.stderr}`)));
  });
  return {
    ...written,
    end: async (signal) => {
      child.kill(signal);
      return ((await exit) as [number | null])[0];
    },
  };
};

/** What the chart says of a name, as a number. */
const shown = (stdout: string, name: string): number =>
  Number(new RegExp(`^ *${name} +([\\d,]+)`, 'm').exec(stdout)?.[1]?.replaceAll(',', ''));

/** The calls that the demo prints, made without curl. */
const callsIn = (stdout: string): { url: string; init: RequestInit }[] =>
  stdout
    .replaceAll(' \\\n ', '')
    .split('\n')
    .filter((line) => line.startsWith('curl '))
    .map((line) => {
      const url = /'(http[^']+)'/.exec(line)![1]!;
      const body = / -d '([^']+)'/.exec(line)?.[1];
      const given = [...line.matchAll(/ -H '(@?)([^']+)'/g)].map(([, isFile, text]) =>
        isFile === '@' ? readFileSync(text!, 'utf8').trimEnd() : text!,
      );
      const headers = given.map((header) => header.split(': ') as [string, string]);
      return { url, init: { method: body === undefined ? 'GET' : 'POST', headers, ...(body && { body }) } };
    });

/** The figures that docs/demo.md says how to check, counted from the file by other means. */
const recount = (): Record<string, number> => {
  const rows = readFileSync('src/demo/data/phishing-sites.csv', 'utf8')
    .trim()
    .split(/\r?\n/)
    .map((text, index) => ({ line: index + 1, text: text.toLowerCase() }))
    .slice(1);
  const listings = rows.filter(({ text }) => /,listed,/.test(text) && !/,\*?\.top$/.test(text));
  const last = new Map(rows.map(({ text }) => [text.split(',')[2], text.split(',')[1]]));
  const addresses = readFileSync('src/demo/data/phishing-addresses.csv', 'utf8').trim().split(/\r?\n/).slice(1);
  const multiples = (of: number): number => listings.filter(({ line }) => line % of === 0).length;
  return {
    'New threats': [...last.values()].filter((change) => change === 'listed').length,
    Watchlisted: new Set(addresses.map((row) => row.split(',')[1])).size,
    Reports: multiples(10),
    'Takedowns filed': multiples(20),
    'Takedowns completed': multiples(40),
    MetaMask: listings.filter(({ text }) => text.includes('metamask')).length,
    Polkadot: listings.filter(({ text }) => text.includes('polkadot')).length,
    Uniswap: listings.filter(({ text }) => text.includes('uniswap')).length,
    WalletConnect: listings.filter(({ text }) => text.includes('walletconnect')).length,
  };
};

beforeAll(async () => {
  if (!existsSync(CLI)) throw new Error(`${CLI} is missing: npm run build`);
  folder = mkdtempSync(join(tmpdir(), 'demo-'));
  database = await createDatabase({ migrated: false });
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await database.drop();
  rmSync(folder, { recursive: true });
});

describe('The demo', () => {
  let first: Run;

  it(
    'shows the figures that the data file gives',
    async () => {
      first = await runDemo();
      expect(first.stderr).toContain('126,756 accepted, 0 known already, 0 rejected');
      for (const [name, figure] of Object.entries(recount()))
        expect([name, shown(first.stdout, name)]).toEqual([name, figure]);
      expect(shown(first.stdout, 'URL') + shown(first.stdout, 'TWITTER')).toBe(shown(first.stdout, 'New threats'));
    },
    PATIENCE_MS,
  );

  it('prints calls that work', async () => {
    const calls = callsIn(first.stdout);
    expect(calls.length).toBeGreaterThanOrEqual(7);
    for (const { url, init } of calls) {
      const response = await fetch(url, init);
      expect([url, response.ok]).toEqual([url, true]);
    }
  });

  it('shows no key, and keeps its keys where nobody else can read them', () => {
    expect(`${first.stdout}${first.stderr}`).not.toMatch(/tp_[0-9A-Za-z]{36}/);
    const kept = join(folder, 'demo');
    expect(statSync(kept).mode & 0o777).toBe(0o700);
    const files = readdirSync(kept);
    expect(files).toHaveLength(2);
    for (const file of files) {
      expect(statSync(join(kept, file)).mode & 0o777).toBe(0o600);
      expect(readFileSync(join(kept, file), 'utf8')).toMatch(/^X-API-KEY: tp_[0-9A-Za-z]{36}\n$/);
    }
  });

  it('ends in order on a signal', async () => {
    expect(await first.end('SIGINT')).toBe(0);
  });

  it(
    'finds its data the second time and does not count it twice',
    async () => {
      const second = await runDemo();
      expect(second.stderr).toContain('0 accepted, 126,756 known already, 0 rejected');
      const expected = { ...recount(), Reports: recount()['Reports']! + 1 };
      for (const [name, figure] of Object.entries(expected))
        expect([name, shown(second.stdout, name)]).toEqual([name, figure]);
      expect(await second.end('SIGTERM')).toBe(0);
    },
    PATIENCE_MS,
  );
});
