import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { EventLog } from '../../../../src/event-log/event-log.js';
import { createEventStoreDbLog } from '../../../../src/event-log/eventstoredb/log.js';
import { holdServer, ownStreams } from '../../../support/event-store.js';
import { FAULT_ROUNDS } from '../../../support/event-store.js';
import { eventually } from '../../../support/eventually.js';
import { Load, TIMEOUT_MS } from '../../../event-log/load.js';

const { TEST_EVENTSTORE_URL: url, TEST_EVENTSTORE_PID: pid, TEST_EVENTSTORE_START: start } = process.env;
/**
 * Each call has a timeout of 2 s, which a busy machine notices late. Without the timeout, a call that is sent while the
 * server is silent never ends.
 */
const MAX_CALL_MS = 20_000;

/** A server in a separate process, which may be killed. */
interface Victim {
  readonly url: string;
  readonly pid: number;
  /** The command that restarts the server. */
  readonly start: string;
  release(): Promise<void>;
}

/**
 * Returns the id of the process that listens on a port, according to Linux. A restarted server has another process id.
 */
const listenerOn = (port: number): number | undefined => {
  const address = port.toString(16).toUpperCase().padStart(4, '0');
  const inodes = ['/proc/net/tcp', '/proc/net/tcp6']
    .flatMap((table) => readFileSync(table, 'utf8').split('\n'))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => state === '0A' && local?.endsWith(`:${address}`))
    .map((fields) => `socket:[${fields[9]}]`);
  const isListeningSocket = (fd: string): boolean => {
    try {
      return inodes.includes(readlinkSync(fd));
    } catch {
      // The file descriptor was closed meanwhile.
      return false;
    }
  };
  const holds = (process: string): boolean => {
    try {
      return readdirSync(`/proc/${process}/fd`).some((fd) => isListeningSocket(`/proc/${process}/fd/${fd}`));
    } catch {
      // The process ended meanwhile, or belongs to another user.
      return false;
    }
  };
  const found = readdirSync('/proc').find((name) => /^\d+$/.test(name) && holds(name));
  return found === undefined ? undefined : Number(found);
};

const portOf = (address: string): number => Number(/:(\d+)/.exec(address.replace(/^.*:\/\/(.*@)?/, ''))?.[1] ?? 2113);

/** Starts the double, which keeps its events in a file. */
const startDouble = async (): Promise<Victim> => {
  const folder = await mkdtemp(join(tmpdir(), 'eventstore-double-'));
  const main = join(import.meta.dirname, '../../../../dist/test/support/eventstore-double/main.js');
  const command = [process.execPath, main, '--data', join(folder, 'log'), '--seconds', '600'];
  const server = spawn(command[0]!, command.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(server.stdout, 'data')) as [Buffer];
  const address = String(line).trim();
  return {
    url: address,
    pid: server.pid!,
    start: [...command, '--port', portOf(address)].map((word) => `'${word}'`).join(' '),
    release: async () => {
      const last = listenerOn(portOf(address));
      if (last !== undefined) process.kill(last, 'SIGKILL');
      await rm(folder, { recursive: true });
    },
  };
};

/** Returns the server that the environment names: its address, its process, and the command that restarts it. */
const configured = async (): Promise<Victim> => {
  const release = await holdServer('alone');
  return { url: ownStreams(url!), pid: Number(pid), start: start!, release };
};

const victims = [
  ...(process.platform === 'linux'
    ? [{ name: 'a double of EventStoreDB in a separate process', open: startDouble }]
    : []),
  ...(url && pid && start ? [{ name: 'a real EventStoreDB', open: configured }] : []),
];

for (const { name, open } of victims)
  describe(`The log in ${name}`, () => {
    let victim: Victim;
    let running: number;
    let log: EventLog;
    let load: Load;
    beforeAll(async () => {
      victim = await open();
      running = victim.pid;
      log = await createEventStoreDbLog(victim.url);
    }, 600_000);
    afterAll(async () => {
      // Calls that are still in flight fail when the double ends.
      await victim?.release();
      await log?.close();
    });

    afterEach(() => load?.end());

    /** Breaks the server until an append fails, and repairs the server. */
    const survives = async (breakIt: () => Promise<void>, mendIt: () => Promise<void>): Promise<void> => {
      load = await new Load(log).start();
      for (let n = 0; n < FAULT_ROUNDS; n++) {
        await load.goOn();
        const { failures } = load;
        await breakIt();
        await eventually('an append has failed', () => load.failures > failures, TIMEOUT_MS).finally(mendIt);
      }
      await load.goOn();
      await load.stop();
      await load.recount();
      expect(load.longestCallMs).toBeLessThan(MAX_CALL_MS);
    };

    it('survives kills of the server', async () => {
      const port = portOf(victim.url);
      await survives(
        async () => {
          process.kill(running, 'SIGKILL');
          await eventually('the port is free', () => listenerOn(port) === undefined, TIMEOUT_MS);
        },
        async () => {
          // A server ends at once if it finds an unknown EVENTSTORE_ variable, such as EVENTSTORE_URL.
          const { EVENTSTORE_URL: _, ...env } = process.env;
          spawn('sh', ['-c', victim.start], { detached: true, stdio: 'ignore', env }).unref();
          // On a busy machine, a real server takes more than 30 s to start.
          await eventually('the server listens again', () => (running = listenerOn(port) ?? 0) > 0);
        },
      );
    }, 600_000);

    it('survives freezes of the server', async () => {
      await survives(
        async () => void process.kill(running, 'SIGSTOP'),
        async () => {
          const { failures } = load;
          await eventually('another append has failed', () => load.failures > failures, TIMEOUT_MS);
          process.kill(running, 'SIGCONT');
        },
      );
    }, 600_000);
  });
