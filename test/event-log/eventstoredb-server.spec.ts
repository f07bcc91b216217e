import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EventLog } from '../../src/event-log/event-log.js';
import { createEventStoreDbLog } from '../../src/event-log/eventstoredb.js';
import { holdServer, ownStreams } from '../support/event-store.js';
import { Load, until } from './load.js';

const { EVENTSTORE_TEST_URL: url, EVENTSTORE_TEST_PID: firstPid, EVENTSTORE_TEST_START: start } = process.env;
const ROUNDS = 5;
const LONGEST_CALL_MS = 3_500;

/** Who listens on a port, as Linux tells it: a restarted server has another process id. */
const listenerOn = (port: number): number | undefined => {
  const address = port.toString(16).toUpperCase().padStart(4, '0');
  const inodes = ['/proc/net/tcp', '/proc/net/tcp6']
    .flatMap((table) => readFileSync(table, 'utf8').split('\n'))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => state === '0A' && local?.endsWith(`:${address}`))
    .map((fields) => `socket:[${fields[9]}]`);
  const holds = (pid: string): boolean => {
    try {
      return readdirSync(`/proc/${pid}/fd`).some((fd) => inodes.includes(readlinkSync(`/proc/${pid}/fd/${fd}`)));
    } catch {
      return false;
    }
  };
  const pid = readdirSync('/proc').find((name) => /^\d+$/.test(name) && holds(name));
  return pid === undefined ? undefined : Number(pid);
};

// Runs where the run is given a server it may kill: its address, its process, and the command that starts it again.
(url && firstPid && start ? describe : describe.skip)(
  'The log in a real EventStoreDB that is killed and frozen',
  () => {
    let release: () => Promise<void>;
    let log: EventLog;
    let load: Load;
    let pid = Number(firstPid);
    beforeAll(async () => {
      release = await holdServer('alone');
      log = await createEventStoreDbLog(ownStreams(url!));
    }, 600_000);
    afterAll(async () => {
      await log?.close();
      await release?.();
    });

    const survives = async (round: () => Promise<void>): Promise<void> => {
      load = await new Load(log).start();
      for (let n = 0; n < ROUNDS; n++) {
        await load.goOn();
        const failures = load.failures;
        await round();
        await until('an append is given up', () => load.failures > failures);
      }
      await load.goOn();
      await load.stop();
      await load.recount();
      expect(load.longestCallMs).toBeLessThan(LONGEST_CALL_MS);
    };

    it('survives five kills', async () => {
      const port = Number(/:(\d+)/.exec(url!.replace(/^.*:\/\/(.*@)?/, ''))?.[1] ?? 2113);
      await survives(async () => {
        process.kill(pid, 'SIGKILL');
        await until('the port is free', () => listenerOn(port) === undefined);
        spawn('sh', ['-c', start!], { detached: true, stdio: 'ignore' }).unref();
        await until('the server listens again', () => (pid = listenerOn(port) ?? 0) > 0);
      });
    }, 300_000);

    it('survives five freezes', async () => {
      await survives(async () => {
        const failures = load.failures;
        process.kill(pid, 'SIGSTOP');
        try {
          await until('an append is given up', () => load.failures > failures);
          await delay(500);
        } finally {
          process.kill(pid, 'SIGCONT');
        }
      });
    }, 300_000);
  },
);
