import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { EXIT_CONFIG } from '../../../src/runtime/config.js';
import { removeFolder, serverOf, temporaryFolder } from '../../support/installation.js';
import { eventually } from '../../support/eventually.js';
import { IS_FULL_SIZE } from '../../support/full-size.js';
import { sharedDatabase } from '../../support/open-for-tests.js';
import { type Program, startProgram } from '../../support/program.js';
import { someAtOnce } from '../../support/some-at-once.js';

const TIMEOUT_MS = 120_000;

/** A signal that no handler has caught yet, because the program was still loading, ends the process by itself. */
const CLEAN = [0, 'SIGTERM'];
/** How long after its start a program gets the signal: while it loads, connects, or listens already. */
const DELAYS_MS = IS_FULL_SIZE ? [300, 700, 1_000, 1_300, 1_700, 2_200] : [300, 1_000, 1_700];
const TRACE = /^\s+at .*:\d+:\d+|^\w*Error:/m;

const database = sharedDatabase();

describe('The service', () => {
  let folder: string;
  let dataDir: string;
  const started: ChildProcess[] = [];
  const env = (): NodeJS.ProcessEnv => ({ DATA_DIR: dataDir, DATABASE_URL: '', PORT: '0', LOG_FORMAT: 'json' });

  beforeAll(async () => {
    folder = await temporaryFolder();
    dataDir = join(folder, 'data');
  });
  afterEach(() => {
    for (const child of started.splice(0)) child.kill('SIGKILL');
  });
  afterAll(() => removeFolder(folder));

  it(
    'goes on without the readers of its output, and SIGTERM then stops all of it, with the database',
    async () => {
      const supervisor = spawn(process.execPath, [resolve('dist/src/cli.js'), 'start'], {
        env: { ...process.env, ...env() },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      started.push(supervisor);
      let output = '';
      for (const stream of [supervisor.stdout, supervisor.stderr])
        stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
      const urlOf = (): string | undefined => /Listening on (http:\/\/[\d.]+:\d+)/.exec(output)?.[1];
      await eventually('the API listens', () => urlOf() !== undefined);
      const url = urlOf()!;
      // The pipes are closed as by `npm start | tee` whose `tee` has ended.
      supervisor.stdout.destroy();
      supervisor.stderr.destroy();
      // Each request writes a line of the access log.
      for (let count = 0; count < 5; count += 1) {
        expect((await fetch(`${url}/v2/organization/metrics`)).status).toBe(401);
        await sleep(100);
      }
      expect(supervisor.exitCode).toBeNull();
      expect((await fetch(`${url}/health/ready`)).status).toBe(200);
      expect(await serverOf(dataDir)).toBeDefined();
      const exit = once(supervisor, 'exit');
      supervisor.kill('SIGTERM');
      expect((await exit)[0]).toBe(0);
      expect(await serverOf(dataDir)).toBeUndefined();
      await expect(fetch(url)).rejects.toThrow();
    },
    TIMEOUT_MS,
  );

  it('does the work of an operator’s call whose output nobody reads', async () => {
    const call = spawn(process.execPath, [resolve('dist/src/cli.js'), 'keys', 'list'], {
      env: { ...process.env, ...env() },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    started.push(call);
    call.stdout.destroy();
    call.stderr.destroy();
    expect((await once(call, 'exit'))[0]).toBe(0);
    expect(await serverOf(dataDir)).toBeUndefined();
  });

  describe('ends cleanly if SIGTERM arrives at any time', () => {
    const programs = ['src/cli.js', 'src/main.js', 'projections/main.js', 'src/deliver.js'] as const;
    let ends: ReadonlyMap<string, Promise<unknown[]>>;

    /** @returns what was wrong, by the time of the signal */
    const stopAtAnyTime = async (program: (typeof programs)[number]): Promise<unknown[]> => {
      // A data directory of its own, because a server that another program uses would not stop.
      const own = join(folder, program.replaceAll('/', '-'));
      execFileSync('cp', ['-a', dataDir, own]);
      const wrong: unknown[] = [];
      for (const delayMs of DELAYS_MS) {
        const words = program === 'src/cli.js' ? ['start'] : [];
        const DATABASE_URL = program === 'src/cli.js' ? '' : database.url;
        const settings = { ...env(), DATABASE_URL, DATA_DIR: own, WEBHOOK_MASTER_KEY_FILE: '' };
        const running = startProgram(program, words, { env: settings });
        started.push(running.process);
        await sleep(delayMs);
        const code = await running.stop('SIGTERM');
        if (!CLEAN.includes(code) || TRACE.test(running.output()))
          wrong.push({ delayMs, code, output: running.output() });
        expect(await serverOf(own)).toBeUndefined();
      }
      return wrong;
    };

    // Two at a time, because a program mostly waits for the signal here, and should start as fast as alone.
    beforeAll(async () => {
      ends = await someAtOnce(programs, 2, stopAtAnyTime);
    }, TIMEOUT_MS);

    it.each(programs)('while %s starts', async (program) => {
      expect(await ends.get(program)!).toEqual([]);
    });
  });

  describe('whose port is in use', () => {
    let other: Server;
    beforeEach(async () => {
      other = createServer().listen(0, '127.0.0.1');
      await once(other, 'listening');
    });
    afterEach(() => void other.close());
    const startWith = (settings: NodeJS.ProcessEnv): Program => {
      const supervisor = startProgram('src/cli.js', ['start'], { env: { ...env(), ...settings } });
      started.push(supervisor.process);
      return supervisor;
    };

    it(
      'ends with one message and the exit code of a wrong setting',
      async () => {
        const { port } = other.address() as { port: number };
        const checks = ['PORT', 'PROJECTOR_OPS_PORT'].map(async (setting) => {
          const supervisor = startWith({ [setting]: String(port) });
          expect([setting, await supervisor.ended()]).toEqual([setting, EXIT_CONFIG]);
          expect(supervisor.output().trimEnd().split('\n')).toEqual([
            expect.stringContaining(`127.0.0.1:${port} is in use by another process; stop it, or set ${setting}`),
          ]);
        });
        await Promise.all(checks);
      },
      TIMEOUT_MS,
    );

    it(
      'starts once the port is free again',
      async () => {
        const { port } = other.address() as { port: number };
        const supervisor = startWith({ PORT: String(port) });
        setTimeout(() => other.close(), 1_500);
        expect(await supervisor.listening()).toBe(`http://127.0.0.1:${port}`);
        expect(await supervisor.stop()).toBe(0);
      },
      TIMEOUT_MS,
    );
  });
});
