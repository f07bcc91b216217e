import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { EXIT_CONFIG } from '../../../src/runtime/config.js';
import { apiFlags } from '../../../src/cli/start.js';
import { commandLine } from '../../../src/postgres/embedded/postmaster.js';
import { clusterOf, removeFolder, serverOf, temporaryFolder } from '../../support/installation.js';
import { eventually } from '../../support/eventually.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { type Program, startProgram } from '../../support/program.js';

/** Some tests start the whole service twice, on a machine that may be busy. */
const TIMEOUT_MS = 180_000;

const childrenOf = (pid: number): number[] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, parent]) => parent === pid)
    .map(([child]) => child!);

const commandOf = (pid: number): string =>
  execFileSync('ps', ['-ww', '-o', 'args=', '-p', String(pid)], { encoding: 'utf8' });

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

/** Returns the command lines of all processes of this machine, which every user may read. Empty without /proc. */
const commandLines = (): string[] =>
  (existsSync('/proc/self/cmdline') ? readdirSync('/proc') : [])
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => read(`/proc/${pid}/cmdline`).replaceAll('\0', ' '))
    .filter((line) => line !== '');

/** Collects command lines repeatedly, because some processes end quickly. */
const watchCommandLines = (): { readonly seen: ReadonlySet<string>; stop(): void } => {
  const seen = new Set<string>();
  const timer = setInterval(() => commandLines().forEach((line) => seen.add(line)), 10);
  return { seen, stop: () => clearInterval(timer) };
};

const KEY = 'tp_shownInNoCommandLine';

/** A zombie process has no command line. */
const lives = (pid: number): boolean => Boolean(commandLine(pid));

describe('npm start', () => {
  let dataDir: string;
  let folder: string;
  let supervisor: Program;
  /** Waits for its database from the beginning, because it does so for half a minute. */
  let waiting: Program;
  let real: TestDatabase;
  let proxy: TcpProxy;
  /** The command lines of every process during the first start and an operator's call. */
  let lines: ReadonlySet<string> = new Set();

  beforeAll(async () => {
    folder = await temporaryFolder();
    dataDir = join(folder, 'data');
    real = await createDatabase({ migrated: false });
    const url = new URL(real.url);
    proxy = new TcpProxy({ host: url.hostname, port: Number(url.port || 5432) });
    await proxy.open();
    await proxy.close();
    url.host = proxy.address;
    waiting = startProgram('src/cli.js', ['start'], {
      env: { DATA_DIR: join(folder, 'waiting'), DATABASE_URL: url.href, PORT: '0' },
    });
  });

  const start = (port = 0, settings: NodeJS.ProcessEnv = {}): void => {
    const env = { DATA_DIR: dataDir, DATABASE_URL: '', PORT: String(port), ...settings };
    supervisor = startProgram('src/cli.js', ['start'], { env });
  };

  const answers = async (program = supervisor): Promise<boolean> => {
    const url = program.url();
    if (url === undefined) return false;
    return fetch(`${url}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  };

  afterEach(() => void supervisor.process.kill('SIGKILL'));
  afterAll(async () => {
    waiting.process.kill('SIGKILL');
    await waiting.ended();
    await proxy.close();
    await real.drop();
    await removeFolder(folder);
  });

  it(
    'runs all processes, restarts killed processes at their previous address, and stops API, projector and database in this order',
    async () => {
      const watched = watchCommandLines();
      start(0, { OPS_PORT: '0', PROJECTOR_OPS_PORT: '0', DELIVERIES_OPS_PORT: '0', THREAT_PROTECTION_API_KEY: KEY });
      await eventually('the API is ready', () => answers());
      const call = { DATA_DIR: dataDir, DATABASE_URL: '', THREAT_PROTECTION_API_KEY: KEY };
      expect(await startProgram('src/cli.js', ['projections', 'status'], { env: call }).ended()).toBe(0);
      watched.stop();
      lines = watched.seen;
      const forOperators = [...supervisor.output().matchAll(/for operators on (http:\/\/[\d.:]+)/g)].map(
        ([, url]) => url!,
      );
      expect(forOperators).toHaveLength(3);
      for (const url of forOperators) expect((await fetch(`${url}/health/live`)).status).toBe(200);
      const database = (await serverOf(dataDir))!;
      const before = childrenOf(supervisor.process.pid!).filter((pid) => pid !== database);
      // The projector, the API and the delivery process.
      expect(before).toHaveLength(3);
      // A flag that is not passed on costs 32 MB, and no other test would detect that.
      expect(before.map(commandOf).join()).toContain(`${apiFlags(undefined).join(' ')} ${resolve('dist/src/main.js')}`);
      for (const pid of before) process.kill(pid, 'SIGKILL');
      await eventually(
        'the API is ready for the second time',
        async () => supervisor.output().split('Listening on').length === 3 && (await answers()),
      );
      const [first, second] = [...supervisor.output().matchAll(/Listening on (http:\/\/[\d.:]+)/g)].map(
        ([, url]) => url,
      );
      expect(second).toBe(first);
      const after = childrenOf(supervisor.process.pid!);
      expect(after).toHaveLength(4);
      const inOrder = ['dist/src/main.js', 'dist/projections/main.js', clusterOf(dataDir)].map((words) =>
        after.find((pid) => commandOf(pid).includes(words))!,
      );
      const tooEarly: string[] = [];
      const watch = setInterval(() => {
        // The later process is checked first: if it has ended, the earlier process must have ended before.
        for (const [index, pid] of inOrder.entries())
          if (index > 0 && !lives(pid) && lives(inOrder[index - 1]!)) tooEarly.push(`${index} ended first`);
      }, 5);
      supervisor.process.kill('SIGTERM');
      expect(await supervisor.ended()).toBe(0);
      clearInterval(watch);
      expect(tooEarly).toEqual([]);
      // A process counts as stopped once its memory is freed, but the kernel removes it a moment later.
      await eventually('no process of the service is left', () => !after.some(lives));
    },
    TIMEOUT_MS,
  );

  const itOnLinux = process.platform === 'linux' ? it : it.skip;
  itOnLinux('shows no password and no key in a command line, from the first start to an operator’s call', () => {
    const all = [...lines];
    for (const part of ['initdb', dataDir, 'dist/src/main.js', 'dist/projections/main.js', 'projections status'])
      expect(all).toContainEqual(expect.stringContaining(part));
    const files = readdirSync(dataDir, { recursive: true, encoding: 'utf8' });
    const passwordFile = files.find((name) => /(?:^|\/)[^/]*password[^/]*$/.test(name));
    const password = read(join(dataDir, passwordFile!)).trim();
    expect(password.length).toBeGreaterThan(16);
    for (const secret of [password, KEY]) expect(all.filter((line) => line.includes(secret))).toEqual([]);
  });

  it(
    'leaves no working process when it is killed, and the next start takes over; a second signal ends it at once',
    async () => {
      start(0, { OPS_PORT: '0', OPS_HOST: '127.0.0.1' });
      await eventually('the API is ready', () => answers());
      // On one machine, only the API has a port for operators.
      expect(supervisor.output().split('for operators on')).toHaveLength(2);
      const database = await serverOf(dataDir);
      const children = childrenOf(supervisor.process.pid!).filter((pid) => pid !== database);
      supervisor.process.kill('SIGKILL');
      await eventually('the children have ended', () => !children.some(lives));
      start();
      await eventually('the API is ready', () => answers());
      expect(await serverOf(dataDir)).toBe(database);
      supervisor.process.kill('SIGTERM');
      await eventually('the supervisor logs that it stops', () => supervisor.output().includes('SIGTERM: stopping'));
      supervisor.process.kill('SIGTERM');
      expect(await supervisor.ended()).toBe(1);
      await eventually('the server is stopped', async () => (await serverOf(dataDir)) === undefined);
    },
    TIMEOUT_MS,
  );

  it(
    'does not restart with an invalid setting, and names the setting',
    async () => {
      start(0, { HOST: '192.0.2.1' });
      expect(await supervisor.ended()).toBe(EXIT_CONFIG);
      expect(supervisor.output().replaceAll('\\"', '"')).toContain(
        'HOST is "192.0.2.1"; it must be an address of this machine',
      );
      expect(supervisor.output()).not.toContain('restarts in');
      expect(await serverOf(dataDir)).toBeUndefined();
    },
    TIMEOUT_MS,
  );

  it(
    'exits with the code of a configuration error if one of its processes cannot run with its settings',
    async () => {
      const sources = join(folder, 'sources.json');
      writeFileSync(sources, '{ "sources": [{ "id": "own", "kind": "own" }] }');
      start(0, { SOURCES_FILE: sources });
      await eventually('the API is ready', () => answers());
      writeFileSync(sources, 'no JSON');
      const api = childrenOf(supervisor.process.pid!).find((pid) => commandOf(pid).includes('dist/src/main.js'));
      process.kill(api!, 'SIGKILL');
      expect(await supervisor.ended()).toBe(EXIT_CONFIG);
      expect(await serverOf(dataDir)).toBeUndefined();
    },
    TIMEOUT_MS,
  );

  it(
    'waits for a database that becomes available later',
    async () => {
      const waits = (): number => waiting.output().split('The database is unavailable').length - 1;
      // Longer than five consecutive starts would take.
      await eventually('the output has said ten times that the database is unavailable', () => waits() >= 10);
      await proxy.open();
      await eventually('the API is ready', () => answers(waiting));
      await eventually('the projector works', () => waiting.output().includes('Lease acquired; projecting'));
      expect(waiting.output()).not.toContain('restarts in');
      // Without a master key, a delivery process could not sign anything.
      expect(childrenOf(waiting.process.pid!)).toHaveLength(2);
      expect(waiting.output()).toContain('Webhooks are disabled: set WEBHOOK_MASTER_KEY_FILE');
      waiting.process.kill('SIGTERM');
      expect(await waiting.ended()).toBe(0);
    },
    TIMEOUT_MS,
  );
});
